// Published measurements under a curve: rows of an experiment's table that match a configuration.
import type { Engine, Json } from "../engine/protocol";
import { valueAt } from "./schema";

export interface MeasuredPoint {
  x: number;
  mean: number;
  sd?: number;
  /** Whether the model was fitted on this point; otherwise it predicts it. */
  fitted: boolean;
}

interface Axis {
  key: string;
  reference?: string;
  case?: { name: Json; set: { [key: string]: Json } }[];
}

interface ExperimentFile {
  title: string;
  source: string;
  axis?: Axis[];
  fixed?: { [key: string]: Json };
  fit_points?: { [key: string]: Json }[];
  reference?: { file: string; source: string; where?: { [column: string]: Json } };
  metric?: { name: string; reference?: string; times?: number }[];
}

type Row = { [column: string]: string };

/** Settings that say how long to run, or what a generator is, and not which server was measured. */
const OF_THE_RUN = /^(run\.|traffic\.generator_|offered_gbps$)/;

export class Measurements {
  private constructor(
    private readonly file: ExperimentFile,
    private readonly rows: Row[],
  ) {}

  static async load(engine: Engine, path: string): Promise<Measurements | undefined> {
    const read = await engine.fact("toml_file", path);
    if (!read) return undefined;
    const file = JSON.parse(read) as ExperimentFile;
    if (!file.reference) return undefined;
    const folder = path.slice(0, path.lastIndexOf("/"));
    const table = await engine.fact("file", `${folder}/${file.reference.file}`);
    return table ? new Measurements(file, csvRows(table)) : undefined;
  }

  get source(): string {
    return this.file.source;
  }

  get raw(): string {
    return this.file.reference?.source ?? "";
  }

  /** Measured points along `key` that belong to a resolved scenario. */
  points(scenario: { [key: string]: Json }, key: string, metric: string): MeasuredPoint[] {
    const declared = this.file.metric?.find((one) => one.name === metric);
    const along = this.axes().find((axis) => axis.key === key);
    if (!declared?.reference || !along?.column || !this.isFixedPart(scenario)) return [];
    const others = this.axes().filter((axis) => axis.key !== along.key);
    const where = Object.entries(this.file.reference?.where ?? {});
    const belongs = (row: Row) =>
      row.metric === declared.reference &&
      where.every(([column, value]) => row[column] === String(value)) &&
      others.every(({ column, key: other }) => !column || same(row[column], valueAt(scenario, other)));
    const points = this.rows.filter(belongs).map((row) => {
      const x = Number(row[along.column as string]);
      const at = (name: string) => (name === key ? x : valueAt(scenario, name));
      const scale = declared.times ?? 1;
      const sd = Number(row.sd);
      return { x, mean: Number(row.mean) / scale, ...(row.sd ? { sd: sd / scale } : {}), fitted: this.isFitted(at) };
    });
    return points.sort((one, other) => one.x - other.x);
  }

  /** Whether the model was fitted on the very configuration; `changed` are its settings. */
  fittedOn(scenario: { [key: string]: Json }, changed: string[]): boolean {
    const own = new Set([...this.axes().map((axis) => axis.key), ...Object.keys(this.file.fixed ?? {})]);
    if (!changed.every((key) => own.has(key) || OF_THE_RUN.test(key))) return false;
    const measured = this.axes().every(({ key, column }) => {
      const value = valueAt(scenario, key);
      return !column || this.rows.some((row) => same(row[column], value) && this.isOfExperiment(row));
    });
    return measured && this.isFixedPart(scenario) && this.isFitted((name) => valueAt(scenario, name));
  }

  private isOfExperiment(row: Row): boolean {
    return Object.entries(this.file.reference?.where ?? {}).every(([column, value]) => row[column] === String(value));
  }

  private isFixedPart(scenario: { [key: string]: Json }): boolean {
    const fixed = Object.entries(this.file.fixed ?? {}).filter(([key]) => !OF_THE_RUN.test(key));
    return fixed.every(([key, value]) => same(String(value), valueAt(scenario, key)));
  }

  private isFitted(at: (key: string) => Json | undefined): boolean {
    const real = new Map(this.axes().map((axis) => [axis.name, axis.key]));
    return (this.file.fit_points ?? []).some((point) =>
      Object.entries(point).every(([key, value]) => same(String(value), at(real.get(key) ?? key))),
    );
  }

  /** The axes with their keys in scenarios: a case is named by the value that it sets. */
  private axes(): { name: string; key: string; column?: string }[] {
    return (this.file.axis ?? []).map(({ key, reference, case: cases }) => {
      const first = cases?.[0];
      const set = Object.entries(first?.set ?? {}).find(([, value]) => value === first?.name);
      return { name: key, key: set ? set[0] : key, ...(reference ? { column: reference } : {}) };
    });
  }
}

function same(text: string | undefined, value: Json | undefined): boolean {
  if (text === undefined || value === undefined || value === null) return false;
  return text === String(value) || (text !== "" && Number(text) === Number(value));
}

/** Rows of a table without quoted commas in the columns that are used. */
export function csvRows(text: string): Row[] {
  const [head = "", ...lines] = text.trim().split(/\r?\n/);
  const columns = head.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    return Object.fromEntries(columns.map((column, number) => [column, cells[number] ?? ""]));
  });
}
