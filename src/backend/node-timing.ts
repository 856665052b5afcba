import { type NodeTiming, usualTiming } from "../store/node.ts";

/**
 * How long a node counts as alive after its last sign of life. Only Sluice's own tests change it, by
 * `SLUICE_TEST_NODE_TIMING=lease,grace,beat,answer` in milliseconds: waiting for real leases would take minutes. It is
 * no setting, because all nodes of a database should agree on it.
 */
export function nodeTiming(text = process.env["SLUICE_TEST_NODE_TIMING"]): NodeTiming {
  const [leaseMs, graceMs, beatMs, answerMs] = (text ?? "").split(",").map(Number);
  if (!leaseMs || !graceMs || !beatMs || !answerMs) return usualTiming;
  return { leaseMs, graceMs, beatMs, answerMs };
}
