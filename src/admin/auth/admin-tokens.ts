import { newId } from "../../base/id.ts";
import { hashSecret } from "../../keys/secret.ts";
import type { AdminTokenRecord } from "../../store/store.ts";
import { newToken } from "../access/admin-token.ts";
import { invalidInput, type OperationContext, OperationError, shownName } from "../context.ts";
import { checkKeyFields } from "../key-terms/key-fields.ts";
import { iso } from "../moments.ts";
import type { AdminTokenView, IssuedAdminTokenView } from "./schema.ts";

/** The token from the configuration or the first start. It has no record in the store. */
const first: AdminTokenView = {
  id: "admin",
  label: "admin",
  role: "admin",
  created_by: null,
  created_at: null,
  revoked_at: null,
};

export async function listAdminTokens({ store }: OperationContext): Promise<AdminTokenView[]> {
  return [first, ...(await store.admin.listTokens()).map(viewOf)];
}

interface NewAdminToken extends Pick<AdminTokenRecord, "label" | "role" | "createdBy"> {
  readonly identity?: string | null;
}

export async function createAdminToken(
  { store, clock }: OperationContext,
  { label, role, createdBy, identity = null }: NewAdminToken,
): Promise<IssuedAdminTokenView> {
  const taken = (await listAdminTokens({ store, clock })).some(
    (token) => token.label === label && token.revoked_at === null,
  );
  if (taken) throw invalidInput(`there is a token "${label}"; choose another label`);
  checkKeyFields({ label }, clock.wallMs());
  const token = newToken();
  const id = newId("adm_");
  const record = {
    id,
    label,
    role,
    hash: hashSecret(token),
    createdBy,
    createdAtMs: clock.wallMs(),
    revokedAtMs: null,
    identity,
  };
  await store.admin.insertToken(record);
  return { ...viewOf(record), token };
}

/** Revokes a token by its id or label, and ends the sessions started with it. */
export async function revokeAdminToken(
  { store, clock }: OperationContext,
  name: string,
): Promise<AdminTokenView> {
  if (name === first.id) {
    const how = "set another one with SLUICE_ADMIN_TOKEN or admin.token, and reload";
    throw invalidInput(`the first token cannot be revoked; ${how}`);
  }
  const tokens = await store.admin.listTokens();
  const token = tokens.find(({ id }) => id === name) ?? tokens.findLast(({ label }) => label === name);
  if (token === undefined) {
    throw new OperationError(
      "unknown_token",
      `token "${shownName(name)}" does not exist; run \`sluice admin-tokens list\``,
    );
  }
  const revokedAtMs = token.revokedAtMs ?? clock.wallMs();
  await store.admin.revokeToken(token.id, revokedAtMs);
  return viewOf({ ...token, revokedAtMs });
}

function viewOf({ id, label, role, createdBy, createdAtMs, revokedAtMs }: AdminTokenRecord): AdminTokenView {
  return {
    id,
    label,
    role,
    created_by: createdBy,
    created_at: iso(createdAtMs),
    revoked_at: revokedAtMs === null ? null : iso(revokedAtMs),
  };
}
