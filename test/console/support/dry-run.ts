/** Tries keys out and asks with them as a serving process does: with services of its own over the store, opened for the one time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { acceptByKey } from '../../../lib/exchange/accept.ts'
import { dryRun } from '../../../lib/exchange/dry-run.ts'
import type { Exchange } from '../../../lib/exchange/record/exchange.ts'
import type { Services } from '../../../lib/exchange/record/services.ts'
import type { AskByKey } from '../../../lib/console/api/shared.ts'
import { Ledger } from '../../../lib/ledger/ledger.ts'
import type { DryRun } from '../../../lib/operations/usage/requests.ts'
import { createServices } from '../../../lib/process/services.ts'
import { Metrics } from '../../../lib/terms/metrics.ts'
import { World } from '../../../lib/world/world.ts'
import type { PeopleParts } from '../../support/people.ts'

type Over = Pick<PeopleParts, 'store' | 'clock' | 'log' | 'config'>

async function openServices({
  store,
  clock,
  log,
  config,
}: Over): Promise<{ services: Services; end(): Promise<void> }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'dry-run-'))
  const ledger = await Ledger.open({ store, clock, log, folder, limitBytes: 2 ** 20 })
  const world = new World(config(), await store.catalogue.read())
  const services = createServices({ clock, log, metrics: new Metrics(), store, ledger, lag: { ms: 0 }, world })
  const end = async () => {
    await ledger.stop()
    await services.pools.destroy()
    rmSync(folder, { recursive: true, force: true })
  }
  return { services, end }
}

export const dryRunOver =
  (over: Over): DryRun =>
  async trial => {
    const { services, end } = await openServices(over)
    try {
      return await dryRun(services, trial)
    } finally {
      await end()
    }
  }

export const askOver =
  (over: Over): AskByKey =>
  asked => ({
    begin(req, res) {
      let x: Exchange | null = null
      void openServices(over).then(({ services, end }) => {
        res.once('close', () => void end())
        x = acceptByKey(services, asked, req, res)
      })
      return {
        get status() {
          return x?.status ?? 0
        },
      }
    },
  })
