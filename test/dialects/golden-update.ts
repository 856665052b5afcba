import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Golden, goldenFolder, readGoldens } from "./golden-file.ts";
import { outcomeOf } from "./golden-run.ts";

/**
 * `bun test/dialects/golden-update.ts` writes what really happens into every golden file. For a change that
 * is meant: the diff is what has to be read. A new file needs its head and what is given; this adds the rest.
 */
const afterGiven: Readonly<Record<string, readonly string[]>> = {
  "client sends": ["provider receives", "dropped", "refused"],
  "provider answers": ["client receives"],
  "provider streams": ["client reads"],
};

function rewritten(golden: Golden, head: string): string {
  const outcome = outcomeOf(golden);
  let text = head;
  for (const [given, results] of Object.entries(afterGiven)) {
    const section = golden.sections.get(given);
    if (section === undefined) continue;
    text += `--- ${given}\n${section}`;
    for (const result of results) {
      const written = outcome.get(result);
      if (written !== undefined) text += `--- ${result}\n${written}`;
    }
  }
  const refused = outcome.get("refused");
  return refused === undefined || text.includes("--- refused") ? text : `${text}--- refused\n${refused}`;
}

for (const golden of readGoldens()) {
  const path = join(goldenFolder, golden.file);
  const [head = ""] = (await Bun.file(path).text()).split(/^--- /m);
  writeFileSync(path, rewritten(golden, head));
}
