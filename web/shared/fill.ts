/**
 * Fills the placeholders of a client's file or link: `{base}`, `{key}`, `{model}` and `{name}`. A value is written as its
 * place demands, so that a quote in a model's name ends no text and a space ends no argument.
 */

/** What the text around a placeholder is. Placeholders of all but `text` and `url` stand within the quotes that are named. */
export type Syntax =
  /** Bourne shells; single quotes. */
  | 'sh'
  /** PowerShell; single quotes. */
  | 'powershell'
  /** `set "NAME=value"` of cmd.exe. */
  | 'cmd'
  /** JSON, JavaScript, Python and TOML; double quotes. */
  | 'json'
  | 'js'
  | 'python'
  | 'toml'
  /** JSON within the single quotes of a Bourne shell. */
  | 'sh-json'
  | 'url'
  | 'text'

export interface Values {
  /** Address of the gateway, without a slash at the end. */
  base: string
  key: string
  model: string
  /** What the client calls the gateway. */
  name: string
}

const quoted = (value: string): string => JSON.stringify(value).slice(1, -1)
const single = (value: string): string => value.replaceAll("'", "'\\''")

const WRITTEN: Record<Syntax, (value: string) => string> = {
  sh: single,
  powershell: value => value.replaceAll("'", "''"),
  cmd: value => value.replaceAll('%', '%%').replaceAll('"', ''),
  json: quoted,
  js: quoted,
  python: quoted,
  toml: quoted,
  'sh-json': value => single(quoted(value)),
  url: value => encodeURIComponent(value).replaceAll("'", '%27'),
  text: value => value,
}

export const fill = (text: string, syntax: Syntax, values: Values): string =>
  text.replaceAll(/\{(base|key|model|name)\}/g, (_, name: keyof Values) => WRITTEN[syntax](values[name]))
