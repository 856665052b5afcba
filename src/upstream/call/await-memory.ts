import type { Head, Transfer } from "../../wire/transfer.ts";
import { maxWholeBytes, type Plan } from "../upstream.ts";
import type { AnswerQueue } from "./answer-queue.ts";

/** Whole answers of more than this take their memory from a budget. */
const maxUncountedBytes = 1024 * 1024;

/** Whether a whole answer exceeds what is accepted from a provider. */
export function isTooLarge({ bytes }: AnswerQueue): boolean {
  return bytes > maxWholeBytes;
}

/** Whether this piece has made a whole answer a large one. */
export function hasBecomeLarge({ bytes }: AnswerQueue, piece: Uint8Array): boolean {
  return bytes > maxUncountedBytes && bytes - piece.length <= maxUncountedBytes;
}

/** The rest of a large answer is read once there is memory for all of it. Until then TCP slows the provider down. */
export async function awaitMemory(plan: Plan, head: Head | null, transfer: Transfer | null): Promise<void> {
  if (plan.awaitMemory === undefined) return;
  const announced = Number(head?.get("content-length") ?? maxWholeBytes);
  transfer?.pause();
  // Rejects if the exchange has ended, which ends this call, too.
  await plan.awaitMemory(Math.min(announced, maxWholeBytes)).catch(() => {});
  transfer?.resume();
}
