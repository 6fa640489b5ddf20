/** What everything about deposits is given. */
import type { OperationDeps } from '../../operations/deps.ts'
import type { UsdtConfig } from '../../config/pay-schema.ts'
import type { PayTallies } from '../../terms/tallies.ts'
import type { PayMarks } from '../marks.ts'
import type { Till } from '../till.ts'

export interface UsdtDeps extends OperationDeps {
  till: Till
  marks: Pick<PayMarks, 'note'>
  counts: Pick<PayTallies, 'credited' | 'repaired' | 'endpointError' | 'chain'>
  config: UsdtConfig
}
