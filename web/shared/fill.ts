/**
 * Fills the placeholders of a client's file or link: `{base}`, `{key}`, `{model}`, `{name}`, and `{step}`, the model's name as one step of a path. A value is written as its
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
  url: value => step(value),
  text: value => value,
}

/** A name as one step of an address, with nothing in it that ends a quote. */
const step = (value: string): string => encodeURIComponent(value).replaceAll("'", '%27')

export const fill = (text: string, syntax: Syntax, values: Values): string =>
  text.replaceAll(/\{(base|key|model|name|step)\}/g, (_, name: keyof Values | 'step') =>
    name === 'step' ? step(values.model) : WRITTEN[syntax](values[name]),
  )

interface Spoken {
  protocols: readonly string[]
  translated: readonly string[]
}

/**
 * What a client takes for a model: all that is for one of the model's protocols, and before the others what is for one that the model
 * speaks itself. null = no model is known.
 */
export function snippetsFor<S extends { protocols?: readonly string[] }>(
  { snippets }: { snippets: readonly S[] },
  model: Spoken | null,
): readonly S[] {
  if (model === null) return snippets
  const speaks = (protocols: readonly string[], spoken: readonly string[]) =>
    protocols.some(one => spoken.includes(one))
  const fitting = snippets.filter(({ protocols }) => protocols === undefined || speaks(protocols, model.protocols))
  const own = model.protocols.filter(one => !model.translated.includes(one))
  const isOwn = ({ protocols }: S) => protocols === undefined || speaks(protocols, own)
  return [...fitting.filter(isOwn), ...fitting.filter(one => !isOwn(one))]
}

/** A model of which clients are shown how to ask for it: one that is offline or has no price is refused. */
export const canBeAsked = ({ state }: { state: string }): boolean => state === 'available' || state === 'resting'
