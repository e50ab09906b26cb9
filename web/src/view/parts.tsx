// Small parts that all views share.
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { TERMS } from "../model/glossary";

/** A word of the glossary: its meaning appears when it is pointed at, or reached by the keyboard; Escape hides it. */
export function Term({ id, children }: { id: string; children: ComponentChildren }): JSX.Element {
  const tip = useId();
  const [hidden, hide] = useState(false);
  const term = TERMS.get(id);
  if (!term) return <>{children}</>;
  return (
    <span
      class={`term${hidden ? " hidden" : ""}`}
      tabIndex={0}
      aria-describedby={tip}
      onKeyDown={(event) => event.key === "Escape" && hide(true)}
      onBlur={() => hide(false)}
      onMouseLeave={() => hide(false)}
    >
      {children}
      <span role="tooltip" id={tip} class="tip">
        <b>{term.names}</b>: {term.meaning}
      </span>
    </span>
  );
}

/** A part of the page with a heading. */
export function Card(props: {
  id: string;
  title: ComponentChildren;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  return (
    <section id={props.id} class={`card${props.wide ? " wide" : ""}`} aria-labelledby={`${props.id}-title`}>
      <header>
        <h2 id={`${props.id}-title`}>{props.title}</h2>
        {props.tools && <div class="tools">{props.tools}</div>}
      </header>
      {props.note && <p class="note">{props.note}</p>}
      {props.children}
    </section>
  );
}

export type Basis = "measured" | "fitted" | "predicted";

const MEANINGS: Record<Basis, string> = {
  measured: "Measured on a real server and published.",
  fitted: "Simulated, at a point on which parameters of the model were chosen.",
  predicted: "Simulated, at a point on which nothing was chosen.",
};

/** Says where a number is from. */
export function Mark({ basis }: { basis: Basis }): JSX.Element {
  return (
    <span class={`mark ${basis}`} title={MEANINGS[basis]}>
      {basis}
    </span>
  );
}

export function Alert({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <p class="alert" role="alert">
      {children}
    </p>
  );
}
