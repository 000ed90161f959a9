// Runs Khronos' gltf-validator: node validate_glb.mjs VALIDATOR_FOLDER FILE.glb...
// Prints one report per file, as a JSON list.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const [validatorFolder, ...files] = process.argv.slice(2);
const validator = createRequire(import.meta.url)(validatorFolder);
// Viewers derive tangents for normal maps themselves, as do the files we were given.
const options = { ignoredIssues: ['MESH_PRIMITIVE_GENERATED_TANGENT_SPACE'] };
const reports = [];
for (const file of files) {
  reports.push(await validator.validateBytes(new Uint8Array(await readFile(file)), options));
}
console.log(JSON.stringify(reports));
