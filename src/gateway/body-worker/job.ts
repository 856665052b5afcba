import type { ErrorCode, VendorError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage } from "../../base/usage/usage.ts";

/**
 * Work on a large body, as a function of plain data, because it crosses threads; bytes are in shared memory and are not copied.
 * Each job is declared where its work belongs, and gateway/worker.ts lists all of them.
 */
export interface Job<Input, Output> {
  readonly name: string;
  /** Runs the job on the calling thread. Throws a GatewayError for what is wrong with the body. */
  run(input: Input): Output;
}

/** The key that a job belongs to, and whether its result is still needed. */
export interface JobOwner {
  readonly keyId: string;
  /** True once the result is not needed: the client disconnected, or the gateway ended the exchange. */
  readonly isOver: boolean;
}

/** A job for the worker: its name, and what it is to be run with. */
export interface JobMessage {
  readonly name: string;
  readonly input: unknown;
}

/** An expected error crosses as its parts. */
export type DoneMessage = { readonly result: unknown } | { readonly refusal: ExpectedError };

export interface ExpectedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | undefined;
  readonly vendor: VendorError | undefined;
  /** The usage that the provider reports for a failed response; null for any other error. */
  readonly reported: { readonly usage: ReportedUsage | null; readonly extras: ReportedExtras } | null;
}
