import { useState } from "preact/hooks";
import { showKey } from "../api.ts";
import { Entrance } from "../pages/sign-in.tsx";
import { TextField } from "../parts/field.tsx";

export function ShowKey() {
  const key = useState("");
  const about = "See what is left, what it was spent on, and how to use it.";
  return (
    <Entrance title="Your key" about={about} verb="Show" send={() => showKey(key[0].trim())}>
      <TextField
        label="API key"
        type="password"
        of={key}
        required
        hint="Stays in this tab: it is not stored, and a reload forgets it."
      />
    </Entrance>
  );
}
