/** Under which name Bedrock counts the tokens of a model. */
import t from 'tap'
import { MESSAGES_ON_BEDROCK } from '../../lib/protocols/clouds.ts'

const MODEL = 'anthropic.claude-sonnet-4-5-20250929-v1:0'
const arn = (name: string) => `arn:aws:bedrock:eu-west-1:123456789012:${name}`

t.test('the id of the model, where the name has one', async t => {
  const rows: [asked: string, counted: string | null][] = [
    [MODEL, MODEL],
    [`eu.${MODEL}`, MODEL],
    [`us-gov.${MODEL}`, MODEL],
    [`global.${MODEL}`, MODEL],
    [arn(`inference-profile/us.${MODEL}`), MODEL],
    [`arn:aws:bedrock:eu-west-1::foundation-model/${MODEL}`, MODEL],
    [arn('application-inference-profile/abc123xyz'), null],
    [arn('application-inference-profile/anthropic.x'), null],
    [arn(`provisioned-model/${MODEL}`), null],
    ['claude-sonnet-4-5', null],
    [`${MODEL}/../other`, null],
    ['', null],
  ]
  for (const [asked, counted] of rows) t.equal(MESSAGES_ON_BEDROCK.count?.modelName?.(asked), counted, asked)
})
