"""Rendering on the CPU: pointmap videos of bodies, previews of clips. No OpenGL, no display."""

from kin4d.render.background import FloorPlane as FloorPlane
from kin4d.render.pointmaps import framing_camera as framing_camera
from kin4d.render.pointmaps import render_bodies as render_bodies
from kin4d.render.pointmaps import render_clip as render_clip
from kin4d.render.pointmaps import unseen_bodies as unseen_bodies
from kin4d.render.rasterizer import Fragments as Fragments
from kin4d.render.rasterizer import rasterize as rasterize
