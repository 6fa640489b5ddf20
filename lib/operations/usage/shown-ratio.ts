/** The ratio by which the output of a leaver was multiplied, as people read it. */
import { decimal } from '../../base/money.ts'
import type { UsageRow } from '../../terms/records.ts'

/** Of a ratio's thousandths. */
const MILLIONTHS = 1000

/** Three places at most; null = nothing was multiplied. */
export const shownRatio = ({ hiddenRatio }: Pick<UsageRow, 'hiddenRatio'>): string | null =>
  hiddenRatio === null ? null : String(decimal(hiddenRatio * MILLIONTHS))
