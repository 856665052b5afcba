import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** Without names and comments, it is half as long to load. */
const program = Bun.file(import.meta.resolve("axe-core/axe.min.js").slice("file://".length)).text();

/** All that the color scheme makes a difference to. */
export const rulesOfColor = ["color-contrast", "link-in-text-block"];

/**
 * What axe finds, each with the first element that it is about. What is in order is not described, which takes most of its time, and
 * nothing is loaded again, which no rule that is run needs.
 */
export async function violations(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  const options = {
    resultTypes: ["violations"],
    preload: false,
    ...(runOnly === undefined ? {} : { runOnly }),
  };
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await program);
  const { violations: found } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as AxeResults;
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
