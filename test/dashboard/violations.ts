import axe from "axe-core";
import type { Page } from "playwright-core";

/** All that the color scheme makes a difference to. */
export const rulesOfColor = ["color-contrast", "link-in-text-block"];

/** What axe finds, each with the first element that it is about. What is in order is not described, which takes most of its time. */
export async function violations(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  const options = { resultTypes: ["violations"], ...(runOnly === undefined ? {} : { runOnly }) };
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const { violations: found } = (await page.evaluate(
    `axe.run(${JSON.stringify(options)})`,
  )) as axe.AxeResults;
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
