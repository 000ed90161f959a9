"""Player: a clip in the browser, with a time slider. Rigid parts are sent once, then only moved."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import sys
import time
from typing import Any

import numpy as np
import torch

from kin4d.errors import InputError
from kin4d.extras import require
from kin4d.geometry.clip import Clip
from kin4d.geometry.material import linear_to_srgb
from kin4d.geometry.skin import SkinAnimation
from kin4d.geometry.transforms import matrix_to_quaternion
from kin4d.viewer.request_guard import RequestGuard, guarded_server


def show(clip: Clip, *, port: int = 8080, host: str = "127.0.0.1") -> None:
    """Play a clip in the browser until interrupted; see `Player`."""
    player = Player(clip, port=port, host=host)
    if player.port != port != 0:
        print(f"kin4d: warning: port {port} is taken", file=sys.stderr)
    print(f"open {player.url} and press Ctrl-C here when done", flush=True)
    player.run()


class Player:
    """Serves one clip, by default to this machine alone.

    Requests that pages of other sites make are refused, see `RequestGuard`.

    Args:
        clip: What to play.
        port: Of the page, or the next that is free; 0 for any.
        host: Address to listen on. Any but a loopback address serves other machines, and then
            asks for a random token, which is in `url`.

    Attributes:
        port: That is used.
        url: Of the page.
    """

    def __init__(self, clip: Clip, *, port: int = 8080, host: str = "127.0.0.1") -> None:
        viser = require("viser", extra="viewer", purpose="the viewer")
        # The server binds in a thread of its own: a port it cannot have would hang us.
        if not 0 <= port < 2**16:
            raise InputError("there is no such port", value=port, allowed=f"0 to {2**16 - 1}")
        address = _own_address(host)
        token = None if address.is_loopback else secrets.token_urlsafe(24)
        self.clip = clip
        with guarded_server(RequestGuard(loopback=token is None, token=token)):
            self._server = viser.ViserServer(host=str(address), port=port, verbose=False)
        self.port: int = self._server.get_port()
        name = "localhost" if address.is_loopback else str(address)
        if address.is_unspecified:
            name = socket.gethostname()
        name = f"[{name}]" if ":" in name else name
        self.url = f"http://{name}:{self.port}" + ("" if token is None else f"/?token={token}")
        self._server.scene.set_up_direction("+z")
        self._add_floor()
        self._show = self._rigid() if clip.skin and clip.skin.is_rigid else self._deforming()
        self._frame = self._server.gui.add_slider(
            "frame", min=0, max=max(len(clip) - 1, 1), step=1, initial_value=0
        )
        self._playing = self._server.gui.add_checkbox("play", initial_value=len(clip) > 1)
        self._frame.on_update(lambda _: self.show(int(self._frame.value)))
        self.show(0)

    def show(self, frame: int) -> None:
        """Show one frame of the clip."""
        with self._server.atomic():
            self._show(min(frame, len(self.clip) - 1))

    def run(self) -> None:
        """Play until interrupted."""
        while True:
            start = time.perf_counter()
            if self._playing.value:
                self._frame.value = (int(self._frame.value) + 1) % len(self.clip)
            time.sleep(max(0.0, 1 / self.clip.fps - (time.perf_counter() - start)))

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()

    def _add_floor(self) -> None:
        bounds = self.clip.bounds
        origin = bounds.mean(0)
        origin[2] = bounds[0, 2]
        reach = 2 * float(np.ptp(bounds, axis=0).max())
        self._server.scene.add_grid(
            "/floor",
            width=reach,
            height=reach,
            cell_size=reach / 20,
            plane="xy",
            position=tuple(origin),
        )

    def _deforming(self):
        """Surfaces whose vertices are sent for every frame."""
        parts = self._add_parts("/body", np.ones(len(self.clip.mesh.faces), bool))

        def show(frame: int) -> None:
            for handle, used in parts:
                handle.vertices = self.clip.vertices[frame][used]

        return show

    def _rigid(self):
        """Surfaces of each joint, sent once and then only moved."""
        skin = self.clip.skin
        assert isinstance(skin, SkinAnimation)
        face_joint = skin.joints[self.clip.mesh.faces[:, 0], 0]
        parts = [
            (joint, handle)
            for joint in np.unique(face_joint)
            for handle, _ in self._add_parts(f"/body/{skin.names[joint]}", face_joint == joint)
        ]
        quaternions = matrix_to_quaternion(torch.from_numpy(skin.transforms[..., :3, :3])).numpy()

        def show(frame: int) -> None:
            for joint, handle in parts:
                handle.wxyz = quaternions[frame, joint]
                handle.position = skin.transforms[frame, joint, :3, 3]

        return show

    def _add_parts(self, name: str, chosen: np.ndarray) -> list[tuple[Any, np.ndarray]]:
        """The chosen faces [F] bool, one handle per material, each with the vertices it uses."""
        mesh = self.clip.mesh
        assert mesh.face_material is not None
        parts = []
        for material in np.unique(mesh.face_material[chosen]):
            faces = mesh.faces[chosen & (mesh.face_material == material)]
            used, index = np.unique(faces, return_inverse=True)
            linear = np.clip(mesh.materials[material].base_color[:3], 0, 1)
            handle = self._server.scene.add_mesh_simple(
                f"{name}/{material}",
                mesh.vertices[used].astype(np.float32),
                index.reshape(-1, 3),
                color=tuple(int(c) for c in np.rint(255 * linear_to_srgb(linear))),
                side="double",
                flat_shading=True,
            )
            parts.append((handle, used))
        return parts


def _own_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of a host name, if this machine can listen on it."""
    try:
        family, kind, _, _, where = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(where)
        return ipaddress.ip_address(where[0])
    except (OSError, UnicodeError, ValueError) as error:
        raise InputError(
            f"cannot listen on this host: {error}",
            value=host,
            allowed="an address of this machine, 127.0.0.1, or 0.0.0.0 for all of its addresses",
        ) from error
