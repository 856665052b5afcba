import { Type } from "@sinclair/typebox";
import { keyModes } from "../../base/key-attributes.ts";
import type { KeyRecord, StoredKeyStatus } from "../../store/store.ts";
import { keyList, keyOrders, keyView } from "../answers/keys.ts";
import { creationDetail } from "../operations/change-detail.ts";
import { changeStatus, extendKey, moveKey, rotateKey, updateKey } from "../operations/change-key.ts";
import { createKeyOn, type PaidKeySpec } from "../operations/create-key.ts";
import { enterKeyCredit } from "../operations/enter-credit.ts";
import { findKey } from "../operations/find-key.ts";
import { holdersKey, inTurn } from "../operations/holders-key.ts";
import { attributesFromBody, capsFromBody } from "../operations/key-document.ts";
import {
  adjustBody,
  extendBody,
  issuedKeyView,
  keyChangesBody,
  keyList as keyListSchema,
  keyStatuses,
  keyView as keyViewSchema,
  moveBody,
  type NewKeyBody,
  newKeyBody,
  rotateBody,
  topUpBody,
  withRepeated,
} from "../views/keys.ts";
import { nothing, oneOf } from "../views/shapes.ts";
import { nano, repeating, signedNano } from "./credits.ts";
import { type AdminCall, type AdminRoute, type Changed, change, read } from "./route.ts";

const listQuery = Type.Object({
  search: Type.Optional(
    Type.String({ description: "A part of the label or the owner, or the beginning of the id or prefix." }),
  ),
  status: Type.Optional(oneOf(keyStatuses)),
  mode: Type.Optional(oneOf(keyModes)),
  sort: oneOf(keyOrders, "newest"),
  cursor: Type.Optional(Type.String()),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
});

export const keyRoutes: readonly AdminRoute[] = [
  read(
    { path: "/keys", summary: "List keys", role: "holder", query: listQuery, answers: keyListSchema },
    ({ deps, query, caller }) => keyList(deps, query, caller),
  ),
  read(
    { path: "/keys/:key", summary: "Show a key", role: "holder", query: nothing, answers: keyViewSchema },
    async (call) => keyView(call.deps, await keyOf(call)),
  ),
  change(
    "POST",
    { path: "/keys", summary: "Create a key", role: "holder", body: newKeyBody, answers: issuedKeyView },
    createdKey,
  ),
  change(
    "PATCH",
    { path: "/keys/:key", summary: "Change a key", body: keyChangesBody, answers: keyViewSchema },
    async (call) => {
      const { named } = call.deps.settings();
      const update = { ...attributesFromBody(call.body), caps: capsFromBody(call.body.caps) };
      const { key, detail } = await updateKey(call.deps, keyName(call), update, named);
      return changed(call, key, "key.update", detail);
    },
  ),
  change(
    "POST",
    {
      path: "/keys/:key/topup",
      summary: "Add credit",
      body: topUpBody,
      answers: withRepeated(keyViewSchema),
    },
    async (call) => {
      const entry = { ...call.body, amountNano: nano(call.body.amount, "amount") };
      const { key, detail, repeated } = await enterKeyCredit(call.deps, keyName(call), "topup", entry);
      return repeating(await changed(call, key, "key.topup", detail), repeated);
    },
  ),
  change(
    "POST",
    {
      path: "/keys/:key/adjust",
      summary: "Correct the balance by an entry of its own",
      body: adjustBody,
      answers: withRepeated(keyViewSchema),
    },
    async (call) => {
      const entry = { ...call.body, amountNano: signedNano(call.body.amount) };
      const held = async (keyId: string) => (await call.deps.accounts.summaries([keyId]))[0]?.held ?? 0;
      const entered = await enterKeyCredit(call.deps, keyName(call), "adjustment", entry, held);
      return repeating(await changed(call, entered.key, "key.adjust", entered.detail), entered.repeated);
    },
  ),
  change(
    "POST",
    {
      path: "/keys/:key/move",
      summary: "Let a key draw on another account",
      body: moveBody,
      answers: keyViewSchema,
    },
    async (call) => {
      const { key, detail } = await moveKey(call.deps, keyName(call), call.body.account);
      return changed(call, key, "key.move", detail);
    },
  ),
  change(
    "POST",
    {
      path: "/keys/:key/extend",
      summary: "Raise a cap for its running period alone",
      body: extendBody,
      answers: keyViewSchema,
    },
    async (call) => {
      const { key, detail } = await extendKey(call.deps, keyName(call), call.body);
      return changed(call, key, "key.extend", detail);
    },
  ),
  change(
    "POST",
    {
      path: "/keys/:key/rotate",
      summary: "Issue a new secret",
      role: "holder",
      body: rotateBody,
      answers: issuedKeyView,
    },
    async (call) => {
      const graceSeconds = call.body.grace_seconds ?? 0;
      const { key, secret, detail } = await rotateKey(call.deps, keyName(call), graceSeconds * 1000);
      const { answer, change: told } = await changed(call, key, "key.rotate", detail);
      return { answer: { ...(answer as object), key: secret }, change: told };
    },
  ),
  statusRoute("enable", "active", "Make a disabled or suspended key active again"),
  statusRoute("disable", "disabled", "Disable a key"),
  statusRoute("suspend", "suspended", "Suspend a key"),
  statusRoute("revoke", "revoked", "Revoke a key for good"),
];

function statusRoute(verb: string, status: StoredKeyStatus, summary: string): AdminRoute {
  const route = { path: `/keys/:key/${verb}`, summary, body: nothing, answers: keyViewSchema };
  return change("POST", route, async (call) => {
    const { key } = await changeStatus(call.deps, keyName(call), status);
    return changed(call, key, `key.${verb}`, null);
  });
}

function createdKey(call: AdminCall<unknown, NewKeyBody>): Promise<Changed> {
  const { deps, caller, body } = call;
  if (caller.role !== "holder") return createdFrom(call, specOf(body));
  return inTurn(async () => {
    await deps.applyChanges();
    return createdFrom(call, holdersKey(deps, caller, body));
  });
}

async function createdFrom(call: AdminCall, spec: PaidKeySpec): Promise<Changed> {
  const { deps } = call;
  const { key, secret } = await createKeyOn(deps, spec, deps.settings().named);
  const detail = creationDetail(key, spec.creditNano ?? 0);
  const { answer, change: told } = await changed(call, key, "key.create", detail);
  return { answer: { ...(answer as object), key: secret }, change: told };
}

function specOf({ mode, account, open, credit, caps, ...attributes }: NewKeyBody): PaidKeySpec {
  const creditNano = credit === undefined ? undefined : nano(credit, "credit");
  return {
    ...attributesFromBody(attributes),
    mode,
    account,
    creditNano,
    isOpen: open,
    caps: capsFromBody(caps),
  };
}

/** Loads the change into memory before the answer says that it is done. */
async function changed(
  call: AdminCall,
  key: KeyRecord,
  action: string,
  detail: string | null,
): Promise<Changed> {
  await call.deps.applyChanges();
  return { answer: await keyView(call.deps, key), change: { action, target: key.prefix, detail } };
}

function keyName(call: AdminCall): string {
  return call.params["key"] ?? "";
}

function keyOf(call: AdminCall): Promise<KeyRecord> {
  return findKey(call.deps, keyName(call));
}
