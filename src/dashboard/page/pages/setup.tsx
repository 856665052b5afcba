import { useState } from "preact/hooks";
import type { SetupStepView } from "../../../admin/system/setup-schema.ts";
import { useAnswer } from "../api.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";

const hiddenName = "sluice-setup-hidden";

/** The remaining set-up steps with their commands. A completed step disappears, and the list with the last one. */
export function Setup() {
  const setup = useAnswer<{ data: SetupStepView[] }>("/setup", 5000);
  const [isHidden, setHidden] = useState(localStorage.getItem(hiddenName) !== null);
  const steps = setup.value?.data ?? [];
  const open = steps.filter(({ done }) => !done);
  if (isHidden || open.length === 0) return null;
  const hide = () => {
    localStorage.setItem(hiddenName, "1");
    setHidden(true);
  };
  return (
    <section class="card" aria-labelledby="setup" data-test="setup">
      <header class="line">
        <h2 id="setup">Set up this gateway</h2>
        <span class="muted">
          {steps.length - open.length} of {steps.length} done
        </span>
        <Button kind="quiet" onClick={hide}>
          Hide
        </Button>
      </header>
      <ul class="checks stack">
        {steps.map(({ step, done, text, command }) => (
          <li class="line" key={step} data-test={`setup-${step}`}>
            <Badge tone={done ? "good" : "warn"}>{done ? "✓ done" : "to do"}</Badge>
            <span>{text}</span>
            {!done && command !== null && (
              <>
                <code>{command}</code>
                <CopyButton text={command} label="Copy" />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
