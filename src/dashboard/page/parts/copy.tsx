import { useState } from "preact/hooks";
import { Button } from "./button.tsx";
import { notify } from "./notices.tsx";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      notify("The browser did not let the page copy. Select the text and copy it by hand.", "bad");
    }
  };
  return (
    <Button icon={done ? "check" : "copy"} onClick={copy}>
      {done ? "Copied" : label}
    </Button>
  );
}
