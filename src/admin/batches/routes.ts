import { creditsFromNano } from "../../base/money/money.ts";
import { plural } from "../../base/text/plural.ts";
import { stateOf } from "../../gateway/batches/batch-object.ts";
import { Batches } from "../../gateway/turns/batches.ts";
import type { BatchRecord, FileRecord } from "../../store/store.ts";
import { invalidInput, type OperationContext, OperationError } from "../context.ts";
import { findKey } from "../key-terms/find-key.ts";
import { iso, isoOrNull } from "../moments.ts";
import {
  type AdminCall,
  type AdminRoute,
  type ChangeResult,
  deleteRoute,
  get,
  post,
} from "../routes/route.ts";
import {
  type BatchView,
  batchPage,
  batchQuery,
  batchView,
  deletedFiles,
  type FileView,
  fileList,
  fileQuery,
} from "./schema.ts";

/** Batches and files of clients: never their content. */
export const batchRoutes: readonly AdminRoute[] = [
  get(
    "/batches",
    "List batches, the newest first",
    { role: "member", query: batchQuery, answers: batchPage },
    async ({ deps, query: { key, state = null, limit, cursor = null } }) => {
      const keyId = key === undefined ? null : (await findKey(deps, key)).id;
      const asked = { keyId, state, limit: limit + 1, after: cursor };
      const found = await deps.store.batches.search(asked);
      if (found === null) throw invalidInput("`cursor` is not a batch");
      const page = found.slice(0, limit);
      const data = await Promise.all(page.map((batch) => viewBatch(deps, batch)));
      return { data, next_cursor: found.length > limit ? (page.at(-1)?.id ?? null) : null };
    },
  ),
  get("/batches/:batch", "Show a batch", { role: "member", answers: batchView }, async (call) =>
    viewBatch(call.deps, await findBatch(call)),
  ),
  post("/batches/:batch/cancel", "Cancel a batch", { answers: batchView }, (call) =>
    changed(call, "batch.cancel", ({ keyId, id }) =>
      call.deps.store.batches.cancel(keyId, id, Math.floor(call.deps.clock.wallMs())),
    ),
  ),
  post("/batches/:batch/resume", "Let a paused batch run on", { answers: batchView }, (call) =>
    changed(call, "batch.resume", ({ id }) => call.deps.store.batches.resume(id)),
  ),
  get(
    "/files",
    "List the files of a key",
    { role: "member", query: fileQuery, answers: fileList },
    async ({ deps, query }) => {
      const { id } = await findKey(deps, query.key);
      return { data: (await filesOf(deps, id)).map(viewFile) };
    },
  ),
  deleteRoute(
    "/files",
    "Delete the files of a key, results of batches among them",
    { query: fileQuery, answers: deletedFiles },
    async ({ deps, query }) => {
      // The schema above has checked it.
      const { id, prefix } = await findKey(deps, (query as { readonly key: string }).key);
      const deleted = await deleteFiles(deps, id);
      await deps.applyChanges();
      const change = { action: "file.delete_all", target: prefix, detail: plural(deleted, "file") };
      return { answer: { key: prefix, deleted }, change };
    },
  ),
];

/** A member sees the batches of their own keys. */
async function findBatch({ deps, named: id, caller }: AdminCall): Promise<BatchRecord> {
  const found = await deps.store.batches.get(id);
  const key = found && (await deps.store.findKey(found.keyId));
  if (found !== null && (caller.role !== "member" || (key !== null && caller.owns(key)))) return found;
  throw new OperationError("not_found", `there is no batch ${id}; run \`sluice batches list\``);
}

async function changed(
  call: AdminCall,
  action: string,
  change: (batch: BatchRecord) => Promise<boolean>,
): Promise<ChangeResult> {
  const batch = await findBatch(call);
  if (!(await change(batch))) {
    const { state } = stateOf(batch);
    throw new OperationError(
      "wrong_status",
      `batch ${batch.id} is ${state === "ended" ? batch.status : state}`,
    );
  }
  await call.deps.applyChanges();
  const answer = await viewBatch(call.deps, await findBatch(call));
  return { answer, change: { action, target: batch.id, detail: null } };
}

async function viewBatch({ store }: OperationContext, batch: BatchRecord): Promise<BatchView> {
  const isCredit = (await store.findKey(batch.keyId))?.mode !== "token_budget";
  const shown = (amount: number) => (isCredit ? creditsFromNano(amount) : amount);
  return {
    id: batch.id,
    key: batch.keyPrefix,
    key_label: batch.keyLabel,
    endpoint: batch.endpoint,
    status: batch.status,
    ...stateOf(batch),
    total: batch.total,
    completed: batch.completed,
    failed: batch.failed,
    estimate: batch.estimate === null ? null : shown(batch.estimate),
    charged: shown(batch.charged),
    unit: isCredit ? "credits" : "tokens",
    created_at: iso(batch.createdAtMs),
    expires_at: iso(batch.expiresAtMs),
    ended_at: isoOrNull(batch.endedAtMs),
  };
}

const maxFiles = 10_000;

async function filesOf({ store }: OperationContext, keyId: string): Promise<readonly FileRecord[]> {
  const kinds = ["batch", "output", "errors"] as const;
  const owner = { keyId, withAccount: false };
  return store.uploads.list({ owner, kinds, limit: maxFiles, afterNo: null, isAscending: false, nowMs: 0 });
}

async function deleteFiles(context: OperationContext, keyId: string): Promise<number> {
  const { store } = context;
  // Nothing of it runs a line.
  const batches = new Batches({ store, node: () => 0 });
  let deleted = 0;
  for (const { id, kind, batchId } of await filesOf(context, keyId)) {
    if ((await store.uploads.usedBy(id)) !== null) continue;
    if (batchId !== null && (kind === "output" || kind === "errors"))
      await batches.deleteResults(batchId, kind);
    if (await store.uploads.delete(keyId, id)) deleted += 1;
  }
  return deleted;
}

function viewFile({ id, kind, batchId, bytes, createdAtMs, expiresAtMs }: FileRecord): FileView {
  return {
    id,
    purpose: kind === "batch" ? "batch" : "batch_output",
    batch: batchId,
    bytes,
    created_at: iso(createdAtMs),
    expires_at: iso(expiresAtMs),
  };
}
