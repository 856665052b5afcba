import { type Static, Type } from "@sinclair/typebox";
import { roles } from "../access/roles.ts";
import { body, flag, moment, nullable, oneOf, text } from "../formats/shapes.ts";

const tokenRoles = ["admin", "viewer"] as const;

export const sessionView = Type.Object({
  signed_in: Type.Boolean(),
  name: nullable(Type.String()),
  role: nullable(oneOf(roles)),
  may_create_keys: Type.Boolean(),
  new_key: nullable(
    Type.Object(
      { account: text("The account that the key is billed to."), cap: nullable(Type.String()) },
      {
        description: "Account and cap of keys that this person creates for themselves; null if they cannot.",
      },
    ),
  ),
  reads_content: flag("Whether this person can read recorded content, of all keys or only their own."),
  oidc: flag("Whether people can sign in at `/admin/oidc/login`."),
});
export type SessionView = Static<typeof sessionView>;

export const endedSessionView = Type.Object({
  sign_out_url: nullable(
    text("Where the person also signs out at the identity provider. Null if it has no page for that."),
  ),
});
export type EndedSessionView = Static<typeof endedSessionView>;

export const signInBody = body({ token: Type.String({ minLength: 1 }) });
export type SignInBody = Static<typeof signInBody>;

export const adminTokenView = Type.Object({
  id: Type.String(),
  label: Type.String(),
  role: oneOf(tokenRoles),
  created_by: nullable(text("Who created it, as in the audit log. Null for the first token.")),
  created_at: nullable(moment),
  revoked_at: nullable(moment),
});
export type AdminTokenView = Static<typeof adminTokenView>;

export const newAdminTokenBody = body({
  label: Type.String({ minLength: 1, maxLength: 100 }),
  role: oneOf(tokenRoles, "admin"),
});

export const issuedAdminTokenView = Type.Object({
  ...adminTokenView.properties,
  token: text("The secret, returned only in this response."),
});
export type IssuedAdminTokenView = Static<typeof issuedAdminTokenView>;
