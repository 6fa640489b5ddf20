/** A rule of sense as a row, and what it returns. */
import type { SenseFinding, Path } from '../config/yaml.ts'
import type { CatalogKind } from '../terms/records.ts'
import type { Sight } from './sight.ts'

export interface Rule {
  /** Name of the rule, which findings show and `accept` names. */
  name: string
  severity: SenseFinding['severity']
  /** What it looks at and complains of, as a sentence for docs/sense.md. */
  about: string
  find(sight: Sight): Iterable<Found>
}

export type Found = Omit<SenseFinding, 'rule' | 'severity'>

export const inRow = (
  kind: CatalogKind,
  name: string,
  path: Path,
  expected: string,
  value: unknown,
  more: Pick<SenseFinding, 'hidden' | 'others'> = {},
): Found => ({ row: { kind, name }, path, expected, value, ...more })

export const inConfig = (
  path: Path,
  expected: string,
  value: unknown,
  more: Pick<SenseFinding, 'hidden' | 'others'> = {},
): Found => ({ row: null, path, expected, value, ...more })

/** About the catalogue file, and not about one of its rows. */
export const inCatalog = (path: Path, expected: string, value: unknown): Found => ({
  row: null,
  ofCatalog: true,
  path,
  expected,
  value,
})
