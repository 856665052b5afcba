import type { FailedAttempt } from "../../upstream/upstream.ts";
import type { Exchange } from "../exchange.ts";

/** What a plan for the upstream knows by its exchange. */
export abstract class ExchangePlan {
  protected readonly exchange: Exchange;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  get requestId(): string {
    return this.exchange.id;
  }

  get deadlineMs(): number {
    return this.exchange.deadlineMs;
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  awaitMemory(bytes: number): Promise<void> {
    return this.exchange.awaitMemory(bytes);
  }

  attemptFailed(...failed: FailedAttempt): void {
    this.exchange.attemptFailed(...failed);
  }

  keepable(message: string): string {
    return this.exchange.keepable(message);
  }
}
