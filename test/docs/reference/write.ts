/** `bun run docs`: writes the generated pages of docs/reference. */
import { join } from "node:path";
import { projectRoot } from "../../architecture/imports.ts";
import { referencePages } from "./pages.ts";

for (const [name, text] of Object.entries(referencePages())) {
  await Bun.write(join(projectRoot, "docs/reference", name), text);
  console.log(`docs/reference/${name}`);
}
process.exit(0);
