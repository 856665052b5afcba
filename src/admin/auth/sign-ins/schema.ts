import { type Static, Type } from "@sinclair/typebox";
import { signInEndReasons } from "../../../store/sign-in-records.ts";
import { body, counted, listOf, moment, nullable, oneOf, text } from "../../formats/shapes.ts";

const signInView = Type.Object({
  id: text("`sgn_…`."),
  person: text("Who signed it in."),
  client: nullable(text("The program's name, as it sends it. This is not verified.")),
  device: nullable(text("The machine's name, as it sends it. This is not verified.")),
  address: text("Where it was signed in from."),
  key: nullable(text("The prefix of the key that all sign-ins of the person use.")),
  began_at: moment,
  used_at: moment,
  ended_at: nullable(moment),
  end_reason: nullable(oneOf(signInEndReasons)),
});
export type SignInView = Static<typeof signInView>;
export const signInList = listOf(signInView);

const person = Type.String({ minLength: 1, description: "The person, as in the list." });

export const signInQuery = Type.Object({ person: Type.Optional(person) });

export const revokeBody = body({
  id: Type.Optional(Type.String({ minLength: 1, description: "One sign-in." })),
  person: Type.Optional(person),
});
export type RevokeBody = Static<typeof revokeBody>;

export const revokedView = Type.Object({ ended: counted("How many sign-ins ended.") });
export type RevokedView = Static<typeof revokedView>;

export const allowBody = body({ person });
export const allowedView = Type.Object({
  allowed: counted("Revoked keys that no longer prevent a sign-in."),
});
export type AllowedView = Static<typeof allowedView>;
