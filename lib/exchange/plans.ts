/** What happens to a request, in order: one plan for each kind of endpoint. This is the table of contents of the room. */
import type { Action } from '../terms/target.ts'
import { type Fact, Plan } from './plan.ts'
import { admit, authenticate, confirm, credential, throttle, throttleFree } from './stages/key.ts'
import { findCandidates, chooseModel, findMaker, countLocally, dispatch } from './stages/candidates.ts'
import { sayHello, listModels, refuseUpgrade } from './stages/own-answers.ts'
import { showFunds, showGeneration } from './stages/key-pages.ts'
import { estimateRequest } from './dry-run.ts'
import { price, reserve } from './stages/money.ts'
import { readBody } from './stages/body.ts'

const known = new Plan<'target'>().step(credential).step(authenticate).step(admit)

const relay = known
  .step(throttle)
  .step(readBody)
  .step(confirm)
  .step(chooseModel)
  .step(findMaker)
  .step(findCandidates)
  .step(price)
  .step(reserve)
  .step(dispatch)

/** Counting tokens is free: it has no price and no hold, and a rate limit of its own. */
const count = known
  .step(throttleFree)
  .step(readBody)
  .step(confirm)
  .step(chooseModel)
  .step(findMaker)
  .step(countLocally)
  .step(dispatch)

const models = known.step(throttleFree).step(listModels)

const funds = known.step(throttleFree).step(showFunds)

const generation = known.step(throttleFree).step(showGeneration)

const estimate = known.step(throttleFree).step(readBody).step(confirm).step(estimateRequest)

const hello = new Plan<'target'>().step(sayHello)

const upgrade = new Plan<'target'>().step(refuseUpgrade)

export const PLANS: Record<Action, Plan<Fact>> = {
  relay,
  count,
  models,
  model: models,
  funds,
  'funds-limit': funds,
  'funds-used': funds,
  credits: funds,
  key: funds,
  generation,
  estimate,
  upgrade,
  hello,
}
