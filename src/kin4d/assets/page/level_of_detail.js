"use strict";
// While something moves, browsers without a graphics card draw as many triangles as they can draw
// 30 times a second; what stands still is drawn with all of them.

// Fewer triangles over the same vertices, as an index array. Of all points of a connected piece in a
// cube of side `cell` whose normals lie in one of 26 sectors, the others go to the sharpest, so that
// pieces, silhouettes, creases and open borders stay; of equally sharp ones to the most central.
const kin4dCoarserIndex = (position, normal, index, cell) => {
  const count = position.length / 3, faces = index.length / 3;
  // Vertices at the same position are one point, so that nothing gapes between them.
  const known = new Map(), point = new Uint32Array(count), first = [], next = new Int32Array(count);
  for (let v = 0; v < count; v++) {
    const key = `${position[3 * v]},${position[3 * v + 1]},${position[3 * v + 2]}`;
    let p = known.get(key);
    if (p === undefined) known.set(key, (p = first.push(-1) - 1));
    point[v] = p;
    next[v] = first[p];
    first[p] = v;
  }
  const corner = (f, k) => 3 * index[3 * f + k];
  const cross = (a, b, c) => {
    const [ux, uy, uz, vx, vy, vz] = [b, c].flatMap(
      end => [0, 1, 2].map(axis => position[end + axis] - position[a + axis]));
    return [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
  };
  const facing = new Float64Array(3 * first.length), area = new Float64Array(first.length);
  const edges = new Map(), parent = Uint32Array.from(first.keys());
  const piece = p => {
    while (parent[p] !== p) p = parent[p] = parent[parent[p]];
    return p;
  };
  for (let f = 0; f < faces; f++) {
    const corners = [0, 1, 2].map(k => corner(f, k)), out = cross(...corners);
    const twice = Math.hypot(...out);
    corners.forEach((at, k) => {
      const p = point[at / 3], q = point[corners[(k + 1) % 3] / 3];
      for (let axis = 0; axis < 3; axis++) facing[3 * p + axis] += out[axis];
      area[p] += twice;
      const edge = Math.min(p, q) * first.length + Math.max(p, q);
      edges.set(edge, (edges.get(edge) ?? 0) + 1);
      parent[piece(p)] = piece(q);
    });
  }
  const sharpness = new Float64Array(first.length);
  for (let p = 0; p < first.length; p++)
    sharpness[p] = Math.round(50 * (1 - Math.hypot(...facing.slice(3 * p, 3 * p + 3)) /
      Math.max(area[p], 1e-30)));
  for (const [edge, times] of edges)
    if (times === 1) {
      sharpness[edge % first.length] += 50;
      sharpness[Math.floor(edge / first.length)] += 50;
    }
  const cluster = new Map(), chosen = new Float64Array(first.length), best = [], off = [];
  for (let p = 0; p < first.length; p++) {
    const cube = [0, 1, 2].map(axis => Math.floor(position[3 * first[p] + axis] / cell));
    const way = facing.slice(3 * p, 3 * p + 3), length = Math.hypot(...way);
    const sector = way.map(value => Math.round(1.4 * value / Math.max(length, 1e-30)));
    const key = `${piece(p)},${cube},${sector}`;
    const distance = Math.hypot(
      ...cube.map((c, k) => position[3 * first[p] + k] / cell - c - 0.5));
    let k = cluster.get(key);
    if (k === undefined) cluster.set(key, (k = best.push(p) - 1));
    chosen[p] = k;
    const sharper = sharpness[p] - sharpness[best[k]];
    if (off[k] === undefined || sharper > 0 || (sharper === 0 && distance < off[k])) {
      best[k] = p;
      off[k] = distance;
    }
  }
  // Of the vertices of a point, the one whose normal is most like that of the vertex it stands for.
  const like = v => {
    let found = -1, most = -Infinity;
    for (let w = first[best[chosen[point[v]]]]; w >= 0; w = next[w]) {
      let dot = 0;
      for (let axis = 0; axis < 3; axis++) dot += normal[3 * v + axis] * normal[3 * w + axis];
      if (dot > most) [found, most] = [w, dot];
    }
    return found < 0 ? v : found;
  };
  const kept = [];
  for (let f = 0; f < faces; f++) {
    const old = [0, 1, 2].map(k => corner(f, k) / 3), [a, b, c] = old.map(v => chosen[point[v]]);
    if (a === b || b === c || c === a) continue;
    const corners = old.map(like), before = cross(...old.map(v => 3 * v));
    const after = cross(...corners.map(v => 3 * v));
    if (before.reduce((sum, x, axis) => sum + x * after[axis], 0) < 0)
      corners.reverse();  // only fronts may be drawn
    kept.push(...corners);
  }
  return new Uint32Array(kept);
};

class Kin4dLevelOfDetail {
  static slow = 31;  // ms a frame: more is below 30 a second, with a little in hand
  static fast = 18.5;
  static still = 200;  // ms after which what does not move is drawn in full; viser draws for 250
  static fewest = 5000;  // triangles; with fewer, others take the time

  level = 0;  // each halves the triangles
  moving = false;
  triangles = 0;
  drawn = 0;
  #cache = new WeakMap();
  #swapped = [];
  #state = NaN;
  #movedAt = -Infinity;
  #last = -Infinity;
  #frames = 0;
  #spent = 0;
  #tooFine = { level: -1, until: 0 };

  // Exchange what is drawn of these meshes for as long as a frame takes.
  before(meshes, camera) {
    const now = performance.now(), state = this.#fingerprint(meshes, camera);
    if (state !== this.#state) this.#movedAt = now;
    this.#state = state;
    this.moving = now - this.#movedAt < Kin4dLevelOfDetail.still;
    this.triangles = meshes.reduce((sum, mesh) => sum + mesh.geometry.index.count / 3, 0);
    if (this.moving) this.#pace(now);
    this.#last = now;
    if (!this.moving || this.level === 0) {
      this.drawn = this.triangles;
      return;
    }
    const about = meshes.map(mesh => this.#about(mesh.geometry));
    const area = about.reduce((sum, one) => sum + one.area, 0);
    const cell = Math.sqrt((2 * area * 2 ** this.level) / Math.max(this.triangles, 1));
    this.drawn = 0;
    meshes.forEach(({ geometry }, i) => {
      const index = this.#coarser(geometry, about[i], cell);
      this.#swapped.push([geometry, geometry.index]);
      geometry.index = index;
      this.drawn += index.count / 3;
    });
  }

  after() {
    for (const [geometry, index] of this.#swapped.reverse()) geometry.index = index;
    this.#swapped = [];
  }

  // Choose the level by how long frames take.
  #pace(now) {
    const gap = now - this.#last;
    if (gap > 500) this.#frames = this.#spent = 0;  // nothing was drawn for a while
    else if (++this.#frames > 0) this.#spent += gap;
    if (this.#frames < 6) return;
    const mean = this.#spent / this.#frames, before = this.level;
    const coarsest = Math.log2(this.triangles / Kin4dLevelOfDetail.fewest);
    if (mean > Kin4dLevelOfDetail.slow && this.level + 1 <= coarsest) {
      this.#tooFine = { level: this.level, until: now + 30000 };
      this.level++;
    } else if (mean < Kin4dLevelOfDetail.fast && this.level > 0 &&
        (this.level - 1 > this.#tooFine.level || now > this.#tooFine.until)) this.level--;
    // The first frames of a level make it.
    this.#frames = this.level === before ? 0 : -2;
    this.#spent = 0;
  }

  #fingerprint(meshes, camera) {
    let sum = 0, weight = 1;
    const add = matrix => { for (const value of matrix.elements) sum += value * ++weight; };
    add(camera.matrixWorld);
    add(camera.projectionMatrix);
    for (const mesh of meshes) {
      add(mesh.matrixWorld);
      mesh.skeleton?.bones.forEach(bone => add(bone.matrixWorld));
      sum += mesh.geometry.attributes.position.version * ++weight;
    }
    return sum;
  }

  #about(geometry) {
    const position = geometry.attributes.position, known = this.#cache.get(geometry);
    if (known?.position === position && known.full === geometry.index) return known;
    const at = position.array, index = geometry.index.array;
    let area = 0;
    for (let i = 0; i < index.length; i += 3) {
      const [a, b, c] = [3 * index[i], 3 * index[i + 1], 3 * index[i + 2]];
      const u = [0, 1, 2].map(k => at[b + k] - at[a + k]);
      const v = [0, 1, 2].map(k => at[c + k] - at[a + k]);
      area += 0.5 * Math.hypot(
        u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
    }
    const about = { position, full: geometry.index, area, levels: new Map() };
    this.#cache.set(geometry, about);
    return about;
  }

  #coarser(geometry, about, cell) {
    const key = cell.toPrecision(3);
    if (!about.levels.has(key)) {
      const { position, normal } = geometry.attributes;
      const fewer = kin4dCoarserIndex(position.array, normal.array, about.full.array, cell);
      const worth = fewer.length && fewer.length < 0.8 * about.full.count;
      about.levels.set(key, worth ? new about.full.constructor(fewer, 1) : about.full);
    }
    return about.levels.get(key);
  }
}
