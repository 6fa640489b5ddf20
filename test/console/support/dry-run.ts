/** Tries keys out as a serving process does: with services of its own over the store, opened for the one try. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { dryRun } from '../../../lib/exchange/dry-run.ts'
import { Ledger } from '../../../lib/ledger/ledger.ts'
import type { DryRun } from '../../../lib/operations/usage/requests.ts'
import { createServices } from '../../../lib/process/services.ts'
import { Metrics } from '../../../lib/terms/metrics.ts'
import { World } from '../../../lib/world/world.ts'
import type { PeopleParts } from '../../support/people.ts'

export const dryRunOver =
  ({ store, clock, log, config }: Pick<PeopleParts, 'store' | 'clock' | 'log' | 'config'>): DryRun =>
  async trial => {
    const folder = mkdtempSync(path.join(tmpdir(), 'dry-run-'))
    const ledger = await Ledger.open({ store, clock, log, folder, limitBytes: 2 ** 20 })
    const world = new World(config(), await store.catalogue.read())
    const services = createServices({ clock, log, metrics: new Metrics(), store, ledger, lag: { ms: 0 }, world })
    try {
      return await dryRun(services, trial)
    } finally {
      await ledger.stop()
      await services.pools.destroy()
      rmSync(folder, { recursive: true, force: true })
    }
  }
