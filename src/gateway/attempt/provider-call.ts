import type { ModelSettings } from "../../config/settings.ts";
import type { FailedAttempt } from "../../upstream/upstream.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { RoutedCall } from "../request/routed-call.ts";

/** The part of a call to providers that follows from its request. */
export abstract class ProviderCall {
  readonly call: RoutedCall;
  readonly model: ModelSettings;
  readonly scope: string;
  readonly credential: string | null;
  readonly keyId: string;

  constructor(call: RoutedCall) {
    this.call = call;
    this.model = call.model;
    this.scope = call.scope;
    this.credential = call.credential;
    this.keyId = call.key.id;
  }

  protected get exchange(): Exchange {
    return this.call.exchange;
  }

  get requestId(): string {
    return this.exchange.id;
  }

  /** No provider is waited for beyond it. */
  get deadlineMs(): number {
    return this.exchange.startedMs + this.model.requestTimeoutMs;
  }

  get isOver(): boolean {
    return this.exchange.isOver;
  }

  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  awaitMemory(bytes: number): Promise<void> {
    return this.call.awaitMemory(bytes);
  }

  attemptFailed(...failed: FailedAttempt): void {
    this.exchange.attempts.addFailed(...failed);
  }

  redactRequestText(message: string): string {
    return this.exchange.redactRequestText(message);
  }
}
