/**
 * The lines and attempts of a usage row as one short text, for the journal and the store. There is one for each request, so
 * what nearly every line and attempt has in common with its row is left out, and the text is put together by hand: two
 * lines and an attempt are 50 bytes, of about 350 that JSON with all names would have.
 *
 * It is the JSON of `[lines, attempts]`. A line is `[class, count, price]`, where it is of the row's model and price version,
 * of the list `base`, and without a tier; else `[class, count, price, model, priceVersion, list, tier, tierName]`. An
 * attempt is `[ms]`, where it is of the row's channel and status and did not fail; else `[ms, channel, status, error]`.
 */
import type { AttemptNote, Line, UsageRow } from './records.ts'

type Detailed = Pick<UsageRow, 'lines' | 'attempts' | 'model' | 'priceVersion' | 'channel' | 'status'>
export type Detail = Pick<UsageRow, 'lines' | 'attempts'>

/** In millionths. */
const NO_TIER = 1_000_000
const quoted = (text: string | null): string => JSON.stringify(text)

/** null: the row has neither lines nor attempts. */
export function detailText(row: Detailed): string | null {
  const { lines, attempts } = row
  if (lines.length === 0 && attempts.length === 0) return null
  let text = '[['
  for (let i = 0; i < lines.length; i++) text += (i === 0 ? '' : ',') + lineText(row, lines[i] as Line)
  text += '],['
  for (let i = 0; i < attempts.length; i++) text += (i === 0 ? '' : ',') + attemptText(row, attempts[i] as AttemptNote)
  return `${text}]]`
}

function lineText(row: Detailed, line: Line): string {
  const { model, priceVersion, list, tier, tierName } = line
  const short = `["${line.class}",${line.count},${line.price}`
  const isUsual = model === row.model && priceVersion === row.priceVersion
  if (isUsual && list === 'base' && tier === NO_TIER && tierName === null) return `${short}]`
  const ofList = list === 'base' ? '"base"' : list
  return `${short},${quoted(model)},${priceVersion},${ofList},${tier},${quoted(tierName)}]`
}

function attemptText(row: Detailed, { channel, status, error, ms }: AttemptNote): string {
  if (channel === row.channel && status === row.status && error === null) return `[${ms}]`
  return `[${ms},${quoted(channel)},${status},${quoted(error)}]`
}

type ShortLine = [Line['class'], number, number, string?, (number | null)?, Line['list']?, number?, (string | null)?]
type ShortAttempt = [number, string?, number?, (string | null)?]

/** Reads the text of `detailText`. */
export function readDetail(row: Omit<Detailed, keyof Detail>, text: string | null): Detail {
  if (text === null) return { lines: [], attempts: [] }
  const [lines, attempts] = JSON.parse(text) as [ShortLine[], ShortAttempt[]]
  return {
    lines: lines.map(([name, count, price, ...rest]): Line => {
      const [model = row.model, priceVersion = row.priceVersion, list = 'base', tier = NO_TIER, tierName = null] = rest
      return { model, priceVersion, list, tier, tierName, class: name, count, price }
    }),
    attempts: attempts.map(([ms, channel = row.channel, status = row.status, error = null]) => ({
      channel,
      status,
      error,
      ms,
    })),
  }
}
