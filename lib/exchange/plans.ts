/** What happens to a request, in order: one plan for each kind of endpoint. This is the table of contents of the room. */
import type { Action } from '../terms/target.ts'
import { type Fact, Plan } from './plan.ts'
import { admit } from './stages/admit.ts'
import { authenticate } from './stages/authenticate.ts'
import { findCandidates } from './stages/candidates.ts'
import { chooseModel } from './stages/choose-model.ts'
import { confirm } from './stages/confirm.ts'
import { countLocally } from './stages/count.ts'
import { credential } from './stages/credential.ts'
import { dispatch } from './stages/dispatch.ts'
import { findMaker } from './stages/find-maker.ts'
import { showFunds } from './stages/funds.ts'
import { sayHello } from './stages/hello.ts'
import { listModels } from './stages/models.ts'
import { price } from './stages/price.ts'
import { readBody } from './stages/read-body.ts'
import { reserve } from './stages/reserve.ts'
import { throttle, throttleFree } from './stages/throttle.ts'
import { refuseUpgrade } from './stages/upgrade.ts'

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
  upgrade,
  hello,
}
