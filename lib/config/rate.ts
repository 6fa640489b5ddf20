/** A rate limit, as people write it in config, catalogue file and calls. */
import { z } from 'zod'
import * as kind from './scalars.ts'

export const rate = z.strictObject({
  requests: kind.whole(0).meta({ description: 'Most requests in any window of `minutes`; 0 = unlimited.' }),
  minutes: kind.whole(1, 43_200).prefault(1).meta({ description: 'Length of the sliding window in minutes.' }),
})
