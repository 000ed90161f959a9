"use strict";
// Cheaper drawing in browsers without a graphics card; all others draw as viser does.
{
  const probe = document.createElement("canvas").getContext("webgl2");
  const info = probe?.getExtension("WEBGL_debug_renderer_info");
  const renderer = info ? probe.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  probe?.getExtension("WEBGL_lose_context")?.loseContext();

  // Antialiasing costs more than everything else that is drawn.
  const withoutAntialiasing = () => {
    const make = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {
      return make.call(this, kind, kind === "webgl2" ? { ...options, antialias: false } : options);
    };
  };

  // Half of what is left is the faint gloss of viser's material: its diffuse part, Lambert's law,
  // is drawn alone. three.js chooses the shader by the material's type.
  const matte = object => {
    const material = object.material;
    if (!object.isMesh || !material.isMeshStandardMaterial) return;
    material.type = "MeshLambertMaterial";
    delete material.defines.STANDARD;
    material.isMeshStandardMaterial = false;
    material.isMeshLambertMaterial = true;
    material.needsUpdate = true;
  };

  // What is drawn of how much, said in the page.
  const box = document.createElement("div");
  box.id = "kin4d-drawing";
  box.style.cssText = "position:fixed;left:12px;bottom:12px;z-index:10;pointer-events:none;" +
    "padding:2px 8px;border-radius:6px;background:rgba(255,255,255,0.8);color:#495057;" +
    "font:12px system-ui,sans-serif";
  const detail = new Kin4dLevelOfDetail();
  const say = () => {
    if (detail.level === 0 || !detail.moving) return;
    const [drawn, all] = [detail.drawn, detail.triangles].map(n => n.toLocaleString("en"));
    const text = drawn === all ? "" : `No graphics card: ${drawn} of ${all} triangles are drawn ` +
      "while something moves, all of them when it is still";
    if (box.textContent === text) return;
    box.textContent = text;
    if (text) document.body.append(box);
    else box.remove();
  };

  // viser shows its scene to scripts for tests, once it is there and until it is replaced.
  const follow = () => {
    const scene = window.__viserMutable?.scene;
    if (!scene || scene.userData.kin4d) return;
    scene.userData.kin4d = detail;
    scene.onBeforeRender = (renderer, _, camera) => {
      const surfaces = [];
      scene.traverseVisible(object => {
        matte(object);
        if (object.isMesh && object.material.isMeshLambertMaterial && object.geometry.index &&
            !object.isInstancedMesh) surfaces.push(object);
      });
      detail.before(surfaces, camera);
      say();
    };
    scene.onAfterRender = () => detail.after();
  };

  if (/swiftshader|llvmpipe|softpipe|basic render/i.test(renderer)) {
    withoutAntialiasing();
    setInterval(follow, 100);
  }
}
