"use strict";
// A file that is dropped anywhere takes the way of the button "Open a file".
{
  const box = document.createElement("div");
  box.id = "kin4d-drop";
  box.style.cssText = "position:fixed;inset:12px;z-index:10000;pointer-events:none;display:none;" +
    "align-items:center;justify-content:center;border:3px dashed #12b886;border-radius:12px;" +
    "background:rgba(255,255,255,0.75);color:#087f5b;font:600 20px system-ui,sans-serif";
  const show = text => {
    if (!box.isConnected) document.body.append(box);
    box.style.display = text ? "flex" : "none";
    box.textContent = text;
  };
  const files = event => [...(event.dataTransfer?.types ?? [])].includes("Files");
  let inside = 0;
  addEventListener("dragenter", event => {
    if (files(event) && inside++ === 0) show("Drop one mesh, clip, robot, scene or episode store");
  });
  addEventListener("dragleave", event => {
    if (files(event) && --inside <= 0) { inside = 0; show(""); }
  });
  addEventListener("dragover", event => { if (files(event)) event.preventDefault(); });
  addEventListener("drop", event => {
    if (!files(event)) return;
    event.preventDefault();
    inside = 0;
    const input = document.querySelector("input[type=file]");
    const one = new DataTransfer();
    if (event.dataTransfer.files.length) one.items.add(event.dataTransfer.files[0]);
    const text = !input ? "Open the panel at the side first, then drop again"
      : event.dataTransfer.files.length !== 1 ? "Drop one file at a time (zip a folder)" : "";
    if (text) {
      show(text);
      setTimeout(() => show(""), 4000);
      return;
    }
    show("");
    input.files = one.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}
