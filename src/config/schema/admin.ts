import { Type } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { afterRestart, ifUnset, marked } from "./marks.ts";
import { closed, flag, list, name, named, secretThat, section, text, time } from "./parts.ts";

const oidc = section({
  issuer: Type.String({
    pattern: "^https?://",
    description: "The identity provider's address; https, or http on this machine.",
  }),
  client_id: Type.String({
    minLength: 1,
    description: "The client id that the issuer assigned to this gateway.",
  }),
  client_secret: marked(secretThat("The client secret that the issuer assigned to this gateway"), {
    [ifUnset]: "admin.oidc is off",
  }),
  scope: text("The scopes requested at sign-in.", { default: "openid email profile" }),
  user_claim: text("The claim that identifies the user.", { minLength: 1, default: "email" }),
  groups_claim: text("The claim with the user's groups.", { minLength: 1, default: "groups" }),
  session: time("How long a person stays signed in.", "12h", { minimum: 1, maximum: 30 * 86_400 }),
  trust_email: flag("Accepts addresses that the identity provider does not mark as verified.", false),
});

const forWhom = list(
  name,
  'Who it applies to: addresses, "group:NAME", "role:admin" or "role:member". Without it: everyone.',
);

const memberKeys = Type.Object(
  {
    for: forWhom,
    account: Type.String({ minLength: 1, description: "The account to bill." }),
    cap: text("The cap of each key, such as 5/day.", {
      pattern: "^\\d+(\\.\\d{1,9})?/(day|week|month)(:.+)?$",
      [expectedText]: 'a cap such as "5/day" or "20/week:claude-opus-*"',
    }),
    models: list(name, "The models that the keys can use. Without it: all."),
  },
  {
    ...closed,
    description:
      "Lets members create keys for themselves, and sign in. The first table that matches the person applies. A single one can be written as `member_keys = { … }`.",
  },
);

const managedSettings = Type.Object(
  {
    for: forWhom,
    claude_code: Type.Record(Type.String(), Type.Unknown(), {
      description: "Settings for Claude Code, as in its settings.json.",
    }),
  },
  closed,
);

const year = 366 * 86_400;

const signIns = section({
  access_token: time("How long an access token is valid.", "60m", { minimum: 5, maximum: 86_400 }),
  idle: time("A sign-in that was not refreshed for this long ends.", "30d", { minimum: 5, maximum: year }),
  max_age: time("Every sign-in ends after this time.", "30d", { minimum: 5, maximum: year }),
});

export const adminSchema = section({
  token: marked(
    Type.Optional(
      secretThat("The admin token, at least 16 characters; default: one is generated at the first start"),
    ),
    { [ifUnset]: "admin.token is not used" },
  ),
  listen: afterRestart(
    text(
      "host:port of a separate listener for the admin API, the dashboard and /metrics, which are then not on the main one.",
    ),
  ),
  metrics_listen: text("host:port of a listener for metrics without a token."),
  public_url: text("The address that browsers use, if a proxy hides it.", { pattern: "^https?://" }),
  admins: list(name, 'Users who can do everything: addresses, or "group:NAME".'),
  viewers: list(name, "Users who can read everything and change nothing."),
  members: Type.Optional(
    Type.Union(
      [
        Type.Literal("everyone"),
        Type.Array(name, { description: "Users who can see and rotate their own keys." }),
      ],
      {
        description: 'Users who can see and rotate their own keys: a list, or "everyone" who is signed in.',
      },
    ),
  ),
  member_keys: Type.Optional(
    Type.Union([memberKeys, Type.Array(memberKeys)], { description: memberKeys.description as string }),
  ),
  sign_ins: signIns,
  managed_settings: list(
    managedSettings,
    "Managed settings for coding agents: the first table that matches the person, merged over the one without `for`.",
  ),
  user_header: named("Header in which a trusted proxy sends the signed-in user, such as x-forwarded-email."),
  groups_header: named("Header with the user's groups, separated by commas."),
  oidc,
});
