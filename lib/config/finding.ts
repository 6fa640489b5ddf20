/**
 * What the rules of sense (`lib/sense`) find in a config or a catalogue: a setting that can be used and is probably not what was
 * meant. The files that were read say at which line it stands.
 */
import type { Kind } from './catalog-text.ts'
import type { Path } from './yaml.ts'

/** A row of the catalogue; keys are named `account/name`. */
export interface RowName {
  kind: Kind
  name: string
}

export interface Finding {
  /** Name of the rule, which `accept` may list. */
  rule: string
  /** `refused`: nothing with it comes into force unless it is accepted. */
  severity: 'refused' | 'warned'
  /** null = it is about the config; with `ofCatalog`, about the catalogue file as a whole. */
  row: RowName | null
  ofCatalog?: true
  /** Within the row, or within the config. */
  path: Path
  /** What should stand there, as the text that follows "expected". */
  expected: string
  /** The value is a secret and must not be shown. */
  hidden?: boolean
  /** Further rows that it is about. */
  others?: readonly RowName[]
  /** What was found, to tell whether it is still the same. */
  value: unknown
}
