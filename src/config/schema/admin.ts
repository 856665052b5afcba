import { Type } from "@sinclair/typebox";
import { defaults } from "../defaults.ts";
import { closed, secret } from "./parts.ts";

const people = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description });

const oidcSchema = Type.Object(
  {
    issuer: Type.String({
      pattern: "^https?://",
      description: "The identity provider's address; https, or http on this machine.",
    }),
    client_id: Type.String({ minLength: 1, description: "What the issuer knows this gateway as." }),
    client_secret: secret,
    scope: Type.Optional(
      Type.String({ default: defaults.oidc.scope, description: "What is asked for at sign-in." }),
    ),
    user_claim: Type.Optional(
      Type.String({ minLength: 1, default: defaults.oidc.userClaim, description: "Who somebody is." }),
    ),
    groups_claim: Type.Optional(
      Type.String({ minLength: 1, default: defaults.oidc.groupsClaim, description: "Their groups." }),
    ),
    trust_email: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Believes an address that the provider does not call verified.",
      }),
    ),
  },
  closed,
);

export const adminSchema = Type.Object(
  {
    token: Type.Optional(secret),
    listen: Type.Optional(
      Type.String({
        description:
          "host:port of a listener for the admin API, the dashboard and /metrics; the main one has none of them then.",
      }),
    ),
    metrics_listen: Type.Optional(Type.String({ description: "host:port of an open metrics listener." })),
    public_url: Type.Optional(
      Type.String({
        pattern: "^https?://",
        description: "The address in people's browsers, where a proxy hides it.",
      }),
    ),
    admins: Type.Optional(people('Who may do everything: addresses, or "group:NAME".')),
    viewers: Type.Optional(people("Who sees everything and changes nothing.")),
    holders: Type.Optional(
      Type.Union([Type.Literal("everyone"), people("Who sees the keys that they own.")], {
        description: 'Who sees and rotates the keys that they own: a list, or "everyone" who is signed in.',
      }),
    ),
    holders_may_create: Type.Optional(
      Type.Object(
        {
          account: Type.String({ minLength: 1, description: "The account that such keys draw on." }),
          cap: Type.Optional(
            Type.String({
              pattern: "^\\d+(\\.\\d{1,9})?/(day|week|month)(:.+)?$",
              description: "The cap of each, such as 5/day.",
            }),
          ),
        },
        { ...closed, description: "Lets holders make keys for themselves." },
      ),
    ),
    user_header: Type.Optional(
      Type.String({
        minLength: 1,
        description: "In which a trusted proxy says who signed in, such as x-forwarded-email.",
      }),
    ),
    groups_header: Type.Optional(
      Type.String({ minLength: 1, description: "In which it lists their groups, with commas." }),
    ),
    oidc: Type.Optional(oidcSchema),
  },
  closed,
);
