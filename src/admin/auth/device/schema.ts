import { type Static, Type } from "@sinclair/typebox";
import { body, flag, moment, nullable, oneOf, text } from "../../formats/shapes.ts";

const userCode = Type.String({ minLength: 1, maxLength: 32, description: "As the terminal shows it." });

export const deviceQuery = Type.Object({ user_code: userCode });
export const deviceBody = body({ user_code: userCode });

export const deviceView = Type.Object({
  user_code: Type.String(),
  state: oneOf(["pending", "approved", "denied"]),
  address: text("The address of the terminal."),
  is_own_address: flag("Whether this call comes from the same address."),
  purpose: oneOf(["key", "sign_in", "operator"]),
  client: nullable(
    text("The program that requests a sign-in, by the name that it sends. This is not verified."),
  ),
  device: nullable(text("The terminal's name, as it sends it. This is not verified.")),
  requested_at: moment,
  expires_at: moment,
});
export type DeviceView = Static<typeof deviceView>;
