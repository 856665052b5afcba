import { signOut } from "../api.ts";
import { nextTheme, theme } from "../theme.ts";
import { Button } from "./button.tsx";

/** What everyone who is signed in can do, on every page. */
export function PersonButtons() {
  return (
    <>
      <Button kind="quiet" icon={theme.value} onClick={nextTheme}>
        Theme: {theme.value}
      </Button>
      <Button kind="quiet" icon="sign-out" onClick={signOut}>
        Sign out
      </Button>
    </>
  );
}
