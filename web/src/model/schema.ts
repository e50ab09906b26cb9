// Keys of scenarios with meaning, type and range, from the JSON schema that the simulator writes.
import type { Json } from "../engine/protocol";

type Node = { [key: string]: Json };

/** A key of a scenario. */
export interface Key {
  path: string;
  about: string;
  kind: "whole" | "number" | "switch" | "choice" | "text";
  least?: number;
  most?: number;
  choices: string[];
}

export class Schema {
  private readonly definitions: Node;

  constructor(private readonly root: Node) {
    this.definitions = (root.$defs ?? {}) as Node;
  }

  /** The key at a dotted path; undefined if there is none, or it is a table. */
  key(path: string): Key | undefined {
    let table: Node | undefined = this.root;
    const parts = path.split(".");
    const name = parts.pop() ?? "";
    for (const part of parts) {
      if (/^\d+$/.test(part)) continue;
      table = this.table(property(table, part));
    }
    const found = property(table, name);
    return found && !this.table(found) ? this.describe(path, found) : undefined;
  }

  /** All keys of the main tenant and the machine, for a search. */
  all(): Key[] {
    const found: Key[] = [];
    const collect = (table: Node, prefix: string) => {
      for (const [name, value] of Object.entries((table.properties ?? {}) as Node)) {
        const path = prefix + name;
        if (LEFT_OUT.has(path)) continue;
        const inner = this.table(value as Node);
        const lists = this.isList(value as Node);
        if (inner && !lists && path.split(".").length < 4) collect(inner, `${path}.`);
        else if (!inner && !lists) found.push(this.describe(path, value as Node));
      }
    };
    collect(this.root, "");
    return found;
  }

  private resolve(node: Node): Node {
    const reference = node.$ref;
    if (typeof reference !== "string") return node;
    return (this.definitions[reference.split("/").pop() ?? ""] ?? {}) as Node;
  }

  /** The shapes that a value may have. */
  private shapes(node: Node): Node[] {
    const whole = this.resolve(node);
    const choices = [...list(whole.anyOf), ...list(whole.oneOf)];
    return choices.length ? choices.flatMap((choice) => this.shapes(choice)) : [whole];
  }

  private table(node: Node | undefined): Node | undefined {
    if (!node) return undefined;
    for (const shape of this.shapes(node)) {
      if (shape.properties) return shape;
      if (shape.items) {
        const inner = this.table(shape.items as Node);
        if (inner) return inner;
      }
    }
    return undefined;
  }

  private isList(node: Node): boolean {
    return this.shapes(node).some((shape) => shape.items !== undefined);
  }

  private describe(path: string, node: Node): Key {
    const shapes = this.shapes(node);
    const types = new Set(shapes.flatMap((shape) => list(shape.type) as unknown as string[]));
    const choices = shapes.flatMap((shape) => {
      const named = [...list(shape.enum), ...(shape.const === undefined ? [] : [shape.const])];
      return named.filter((value) => typeof value === "string") as string[];
    });
    const kind = choices.length
      ? "choice"
      : types.has("boolean")
        ? "switch"
        : types.has("integer")
          ? "whole"
          : types.has("number")
            ? "number"
            : "text";
    const about = String(node.description ?? this.resolve(node).description ?? "").replace(/\s+/g, " ");
    const least = bound(shapes, "minimum");
    const most = bound(shapes, "maximum");
    return {
      path,
      about,
      kind,
      choices: [...new Set(choices)],
      ...(least === undefined ? {} : { least }),
      ...(most === undefined ? {} : { most }),
    };
  }
}

/** Keys that are set elsewhere, or by no setting. */
const LEFT_OUT = new Set(["schema_version", "title", "question", "hardware", "name", "testbed"]);

function list(value: Json | undefined): Node[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]) as Node[];
}

function property(table: Node | undefined, name: string): Node | undefined {
  return ((table?.properties ?? {}) as { [key: string]: Node })[name];
}

function bound(shapes: Node[], name: string): number | undefined {
  const found = shapes.map((shape) => shape[name]).filter((value) => typeof value === "number");
  return found[0];
}

/** The value at a dotted path of a resolved scenario. */
export function valueAt(scenario: Json | undefined, path: string): Json | undefined {
  let place: Json | undefined = scenario;
  for (const part of path.split(".")) {
    if (place === null || typeof place !== "object") return undefined;
    place = Array.isArray(place) ? place[Number(part)] : place[part];
  }
  return place;
}
