import type { IssuedKey } from "../../keys/issue.ts";
import type { KeyRecord, StoredKeyStatus } from "../../store/store.ts";
import { nano, signedNano } from "../accounts/credits.ts";
import { enterKeyCredit, entryOf } from "../accounts/enter-credit.ts";
import { creationDetail } from "../key-terms/change-detail.ts";
import { findKey } from "../key-terms/find-key.ts";
import { attributesFromBody, capsFromBody } from "../key-terms/key-document.ts";
import {
  adjustBody,
  enteredKeyView,
  issuedKeyView,
  keyChangesBody,
  keyList as keyListSchema,
  keyStatusView,
  keyView as keyViewSchema,
  moveBody,
  type NewKeyBody,
  newKeyBody,
  raiseKeyCapBody,
  rotateBody,
  topUpBody,
} from "../key-terms/schema.ts";
import { type AdminCall, type AdminRoute, type ChangeResult, get, patch, post } from "../routes/route.ts";
import { changeStatus, moveKey, raiseKeyCap, rotateKey, updateKey } from "./change-key.ts";
import { createKeyOn, type PaidKeySpec } from "./create-key.ts";
import { keyList, keyListQuery, keyQuery, keyView, usedKeyView } from "./key-list.ts";
import { createMembersKey } from "./members-key.ts";

export const keyRoutes: readonly AdminRoute[] = [
  get(
    "/keys",
    "List keys",
    { role: "member", query: keyListQuery, answers: keyListSchema },
    ({ deps, query, caller }) => keyList(deps, query, caller),
  ),
  get(
    "/keys/:key",
    "Show a key",
    { role: "member", query: keyQuery, answers: keyViewSchema },
    async ({ deps, named, query }) => {
      const key = await findKey(deps, named);
      return query.last_used === "false" ? keyView(deps, key) : usedKeyView(deps, key);
    },
  ),
  post("/keys", "Create a key", { role: "member", body: newKeyBody, answers: issuedKeyView }, createdKey),
  patch("/keys/:key", "Change a key", { body: keyChangesBody, answers: keyViewSchema }, async (call) => {
    const update = { ...attributesFromBody(call.body), caps: capsFromBody(call.body.caps) };
    return applyAndRespond(
      call,
      "key.update",
      await updateKey(call.deps, call.named, update, call.deps.knownNames()),
    );
  }),
  post("/keys/:key/topup", "Add credit", { body: topUpBody, answers: enteredKeyView }, async (call) => {
    const entry = { ...call.body, amountNano: nano(call.body.amount, "amount") };
    const result = await enterKeyCredit(call.deps, call.named, "topup", entry);
    return applyAndRespond(call, "key.topup", result, entryOf(result));
  }),
  post(
    "/keys/:key/adjust",
    "Correct the balance with a separate ledger entry",
    { body: adjustBody, answers: enteredKeyView },
    async (call) => {
      const entry = { ...call.body, amountNano: signedNano(call.body.amount) };
      const held = async (keyId: string) => (await call.deps.accounts.summaries([keyId]))[0]?.held ?? 0;
      const result = await enterKeyCredit(call.deps, call.named, "adjustment", entry, held);
      return applyAndRespond(call, "key.adjust", result, entryOf(result));
    },
  ),
  post(
    "/keys/:key/move",
    "Bill a key to a different account",
    { body: moveBody, answers: keyViewSchema },
    async (call) =>
      applyAndRespond(call, "key.move", await moveKey(call.deps, call.named, call.body.account)),
  ),
  post(
    "/keys/:key/raise-cap",
    "Raise a cap for the current period only",
    { body: raiseKeyCapBody, answers: keyViewSchema },
    async (call) =>
      applyAndRespond(call, "key.raise_cap", await raiseKeyCap(call.deps, call.named, call.body)),
  ),
  post(
    "/keys/:key/rotate",
    "Issue a new secret",
    { role: "member", body: rotateBody, answers: issuedKeyView },
    async (call) => {
      const graceSeconds = call.body.grace_seconds ?? 0;
      const rotated = await rotateKey(call.deps, call.named, graceSeconds * 1000);
      return applyAndRespond(call, "key.rotate", rotated, { key: rotated.secret });
    },
  ),
  statusRoute("enable", "active", "Make a disabled or suspended key active again"),
  statusRoute("disable", "disabled", "Disable a key"),
  statusRoute("suspend", "suspended", "Suspend a key"),
  statusRoute("revoke", "revoked", "Revoke a key permanently"),
];

function statusRoute(verb: string, status: StoredKeyStatus, summary: string): AdminRoute {
  return post(`/keys/:key/${verb}`, summary, { answers: keyStatusView }, async (call) => {
    const changedKey = await changeStatus(call.deps, call.named, status);
    const result = await applyAndRespond(call, `key.${verb}`, changedKey, { changed: changedKey.changed });
    return changedKey.changed ? result : { ...result, change: null };
  });
}

async function createdKey(call: AdminCall<unknown, NewKeyBody>): Promise<ChangeResult> {
  const { deps, caller, body } = call;
  const { owner, ...others } = body;
  const isOwn = owner === "me";
  if (caller.role === "member" || isOwn) {
    return createdFrom(call, await createMembersKey(deps, caller, isOwn ? others : body), 0);
  }
  const spec = specOf(body);
  const issued = await createKeyOn(deps, spec, deps.knownNames());
  return createdFrom(call, issued, spec.creditNano ?? 0);
}

function createdFrom(call: AdminCall, { key, secret }: IssuedKey, creditNano: number): Promise<ChangeResult> {
  const detail = creationDetail(key, creditNano);
  return applyAndRespond(call, "key.create", { key, detail }, { key: secret });
}

function specOf({ mode, account, postpaid, credit, caps, ...attributes }: NewKeyBody): PaidKeySpec {
  const creditNano = credit === undefined ? undefined : nano(credit, "credit");
  return {
    ...attributesFromBody(attributes),
    mode,
    account,
    creditNano,
    isPostpaid: postpaid,
    caps: capsFromBody(caps),
  };
}

/** Loads the change into memory first, so that the response describes what is in effect. */
async function applyAndRespond(
  call: AdminCall,
  action: string,
  { key, detail = null }: { readonly key: KeyRecord; readonly detail?: string | null },
  more: object = {},
): Promise<ChangeResult> {
  await call.deps.applyChanges();
  const answer = { ...(await keyView(call.deps, key)), ...more };
  return { answer, change: { action, target: key.prefix, detail } };
}
