import {
  type AdminCall,
  type AdminRoute,
  type ChangeResult,
  deleteRoute,
  get,
  patch,
  post,
} from "../routes/route.ts";
import { addCap, type ChangedCap, raiseCap, removeCap, showCap, updateCap } from "./caps.ts";
import { listCaps, valuesNear } from "./list.ts";
import { capChangesBody, capDetail, capList, nearQuery, newCapBody, raiseBody, valueList } from "./schema.ts";

export const capRoutes: readonly AdminRoute[] = [
  get(
    "/caps",
    "List caps by owner, end user or tag, and the caps of keys and accounts",
    { answers: capList },
    async ({ deps }) => ({
      data: await listCaps(deps),
    }),
  ),
  get(
    "/cap-values",
    "List what is near its limit, the nearest first",
    { query: nearQuery, answers: valueList },
    async ({ deps, query }) => ({ data: await valuesNear(deps, query.near ?? 0) }),
  ),
  get("/caps/:cap", "Show a cap and the values that have used the most", { answers: capDetail }, (call) =>
    showCap(call.deps, call.named),
  ),
  post(
    "/caps",
    "Limit what each owner, end user or tag spends",
    { body: newCapBody, answers: capDetail },
    async (call) => respond(call, "cap.add", await addCap(call.deps, call.body)),
  ),
  patch("/caps/:cap", "Change a cap", { body: capChangesBody, answers: capDetail }, async (call) =>
    respond(call, "cap.update", await updateCap(call.deps, call.named, call.body)),
  ),
  post(
    "/caps/:cap/raise",
    "Raise a cap for its current period only, for one value or for all",
    { body: raiseBody, answers: capDetail },
    async (call) => respond(call, "cap.raise", await raiseCap(call.deps, call.named, call.body)),
  ),
  deleteRoute("/caps/:cap", "Remove a cap", { answers: capDetail }, async (call) => {
    const answer = await showCap(call.deps, call.named);
    const { cap, detail } = await removeCap(call.deps, call.named);
    await call.deps.applyChanges();
    return { answer, change: { action: "cap.remove", target: cap.id, detail } };
  }),
];

/** Loads the change into memory first, so that the response describes what is in effect. */
async function respond(call: AdminCall, action: string, { cap, detail }: ChangedCap): Promise<ChangeResult> {
  await call.deps.applyChanges();
  return { answer: await showCap(call.deps, cap.id), change: { action, target: cap.id, detail } };
}
