// The glossary of the documentation, one hover away.
import source from "../../../docs/reference/glossary.md?raw";

export interface Term {
  names: string;
  meaning: string;
}

const ANCHOR = /<a id="([^"]+)"><\/a>/g;

function parse(text: string): Map<string, Term> {
  const terms = new Map<string, Term>();
  for (const line of text.split("\n")) {
    if (!line.startsWith("| <a id=")) continue;
    const [, name = "", meaning = ""] = line.split(/(?<!\\)\|/);
    const term = { names: plain(name.replaceAll(ANCHOR, "")), meaning: plain(meaning) };
    for (const [, id] of name.matchAll(ANCHOR)) if (id) terms.set(id, term);
  }
  return terms;
}

function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").trim();
}

export const TERMS = parse(source);
