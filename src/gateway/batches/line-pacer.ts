import type { Gateway } from "../exchange/gateway.ts";

/** The pause while clients have to wait, and between two lines while they do not: a line takes a tenth of that. */
const [crowdedMs, betweenLinesMs] = [50, 10];

/** Calls of clients come first: during them, lines of batches start one by one. Without them, nothing waits. */
export class LinePacer {
  readonly #ongoing: Pick<Gateway["ongoing"], "isCrowded" | "hasClients">;
  #startedAtMs = Number.NEGATIVE_INFINITY;

  constructor({ ongoing }: Pick<Gateway, "ongoing">) {
    this.#ongoing = ongoing;
  }

  /** How long to wait before it is asked again; 0 if a line may start. */
  get waitMs(): number {
    if (this.#ongoing.isCrowded) return crowdedMs;
    if (!this.#ongoing.hasClients) return 0;
    return Math.max(0, this.#startedAtMs + betweenLinesMs - performance.now());
  }

  started(): void {
    this.#startedAtMs = performance.now();
  }

  /** Resolves when a line may start, and counts it. */
  async start(): Promise<void> {
    for (let waitMs = this.waitMs; waitMs > 0; waitMs = this.waitMs) await Bun.sleep(waitMs);
    this.started();
  }
}
