/** What gateways have learned of the answers of models, a row for each series of them. See `lib/exchange/record/model-stats.ts`. */
import { type Driver, DuplicateKey, type Param } from '../driver.ts'
import type { ModelSeries, SeriesSamples } from '../stats-store.ts'
import { integer, integerOrNull, text } from './text.ts'

export async function modelSeries(driver: Driver): Promise<ModelSeries[]> {
  const rows = await driver.query('modelStats', 'SELECT model, series, figure, thinks FROM model_stats', [])
  return rows.map(row => ({
    model: text(row, 'model'),
    series: text(row, 'series'),
    figure: integerOrNull(row, 'figure'),
    thinks: integer(row, 'thinks') === 1,
  }))
}

export async function seriesSamples(driver: Driver, model: string, series: string): Promise<SeriesSamples> {
  const sql = 'SELECT version, samples FROM model_stats WHERE model = ? AND series = ?'
  const [row] = await driver.query('modelStats', sql, [model, series])
  return row === undefined
    ? { version: 0, samples: '' }
    : { version: integer(row, 'version'), samples: text(row, 'samples') }
}

const UPDATE =
  'UPDATE model_stats SET version = version + 1, figure = ?, thinks = ?, samples = ? WHERE model = ? AND series = ? AND version = ?'
const INSERT = 'INSERT INTO model_stats (figure, thinks, samples, model, series, version) VALUES (?, ?, ?, ?, ?, 1)'

export async function swapSeries(
  driver: Driver,
  { model, series, figure, thinks }: ModelSeries,
  before: number,
  samples: string,
): Promise<boolean> {
  const values: Param[] = [figure, thinks ? 1 : 0, samples, model, series]
  try {
    const { changes } =
      before === 0
        ? await driver.run('modelStats', INSERT, values)
        : await driver.run('modelStats', UPDATE, [...values, before])
    return changes === 1
  } catch (error) {
    if (error instanceof DuplicateKey) return false
    throw error
  }
}
