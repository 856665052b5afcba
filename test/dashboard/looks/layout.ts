import { join } from "node:path";
import type { Page } from "playwright-core";

let rules: Promise<string> | undefined;

/** The rules as a script, which runs in the page. */
async function script(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "in-page", "faults.ts")],
    target: "browser",
    format: "iife",
  });
  const [output] = built.outputs;
  if (output === undefined) throw new Error("The rules of the layout were not built.");
  return output.text();
}

/** What is wrong with the layout of the page as it is now, in sentences. */
export async function layoutFaults(page: Page): Promise<string[]> {
  rules ??= script();
  if (!(await page.evaluate("'layoutFaults' in window"))) await page.evaluate(await rules);
  return page.evaluate("layoutFaults()");
}
