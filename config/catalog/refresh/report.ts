import { maxFactor } from "./change.ts";
import type { ListedModel } from "./lists.ts";

/** What a refresh does, for the terminal and for the commit. */
export class Report {
  readonly changed: string[] = [];
  readonly added: string[] = [];
  /** Changes by more than a factor of 3. */
  readonly large: string[] = [];
  /** Prices that were checked by hand and differ. */
  readonly left: string[] = [];
  confirmed = 0;

  change(name: string, { source, day }: ListedModel, details: readonly string[], factor: number): void {
    const text = `${name}: ${details.join(", ")} (${source} ${day})`;
    this.changed.push(text);
    if (factor > maxFactor) this.large.push(text);
  }

  print(skipped: readonly string[]): void {
    for (const [title, lines] of [
      ["changed", this.changed],
      ["new", this.added],
      ["left, checked by hand", this.left],
      ["skipped", skipped],
    ] as const) {
      for (const line of lines) console.log(`${title}: ${line}`);
    }
    const { changed, added, confirmed, left } = this;
    console.log(
      `${changed.length} changed, ${added.length} new, ${confirmed} confirmed, ${left.length} left, ${skipped.length} skipped`,
    );
  }
}
