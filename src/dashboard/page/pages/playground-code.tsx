import { useState } from "preact/hooks";
import { plainChoices } from "../parts/choose.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { type CodeLanguage, type CodeRequest, codeLanguages, codeOf } from "../playground/code.ts";

const choices = plainChoices(codeLanguages);
const maxShown = 200;

/** The request that would be sent now, as a program. Images are shown by their beginning, and copied whole. */
export function RequestCode({ request }: { request: CodeRequest }) {
  const [chosen, choose] = useState<string>("curl");
  const [isOpen, setOpen] = useState(false);
  const language: CodeLanguage = codeLanguages.find((each) => each === chosen) ?? "curl";
  const text = isOpen ? codeOf(language, request) : "";
  return (
    <details class="card folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Code</summary>
      <div class="stack">
        <Segmented label="Language" state={[language, choose]} choices={choices} />
        {text === null ? (
          <p class="muted">Files are sent as a form: use curl.</p>
        ) : (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard. */}
            <pre class="well snippet" tabIndex={0} data-test="code">
              {text.replace(/[\w+/=]{200,}/g, (long) => `${long.slice(0, maxShown / 4)}…`)}
            </pre>
            <CopyButton text={text} label="Copy code" />
          </>
        )}
      </div>
    </details>
  );
}
