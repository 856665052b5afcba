import type { AdminSettings } from "../../../config/settings.ts";
import type { PersonIdentity } from "../../access/identity.ts";
import { rolesOf } from "../../access/person.ts";
import { audit } from "../../audit.ts";
import { OperationError } from "../../context.ts";
import type { AdminDeps } from "../../deps.ts";
import { createAdminToken, listAdminTokens } from "../admin-tokens.ts";

interface OperatorTerminal {
  readonly device: string | null;
  readonly address: string;
}

export interface OperatorToken {
  readonly operatorToken: string;
  readonly role: "admin" | "viewer";
}

/** Issues an admin token that has the person's role, as long as they have it. */
export async function issueOperatorToken(
  deps: AdminDeps,
  person: PersonIdentity,
  { device, address }: OperatorTerminal,
): Promise<OperatorToken> {
  const role = operatorRole(person, deps.settings().admin);
  const label = await freeLabel(deps, device === null ? person.user : `${person.user} on ${device}`);
  const identity = JSON.stringify(person);
  const { token } = await createAdminToken(deps, { label, role, createdBy: person.user, identity });
  const change = { action: "admin-token.create", target: label, detail: `${role}, by sluice login` };
  await audit(deps, { actor: person.user, address }, change);
  return { operatorToken: token, role };
}

export function operatorRole(person: PersonIdentity, settings: AdminSettings): OperatorToken["role"] {
  const held = rolesOf(person, settings);
  if (held.has("admin")) return "admin";
  if (held.has("viewer")) return "viewer";
  throw new OperationError(
    "not_allowed",
    `you are signed in as ${person.user}; this needs the role \`admin\` or \`viewer\`, which an operator can assign`,
  );
}

/** A person can sign in from a machine again while the earlier token is valid. */
async function freeLabel(deps: AdminDeps, wanted: string): Promise<string> {
  const taken = new Set((await listAdminTokens(deps)).map(({ label }) => label));
  let label = wanted;
  for (let number = 2; taken.has(label); number += 1) label = `${wanted} (${number})`;
  return label;
}
