"""Which tests stand for their kind in `make test`; `make cases` runs all of a kind."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

REPRESENTATIVES = {
    # A command line, its engine and its screen as processes: kills, power cuts, jobs, terminals, containers.
    "e2e/test_kill_9.py::test_a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been": 1,
    "e2e/test_power_cuts.py::test_a_run_whose_power_is_cut_while_its_fence_is_written_goes_on": 1,
    "e2e/test_watch_terminal.py::test_it_comes_at_once_and_leaves_the_terminal_as_it_was": 1,
    "security/test_escape.py::test_nothing_is_written_outside": 1,
    "security/test_fallback.py::test_46_without_bubblewrap_commands_run_in_containers_and_doctor_says_why": 1,
    "tui/test_web.py::test_a_browser_shows_the_dashboard_and_its_policy_keeps_nothing_back": 1,
    "unit/hands/test_hands_containers.py::TestContainers::test_a_workspace_keeps_one_container_until_it_is_closed": 1,
    # Models behind HTTP.
    "unit/llm/test_thinking_families.py::test_a_thinking_model_finishes_a_session_with_tools": 1,
    "e2e/test_loopback_judges.py::test_a_judge_that_approves_everything_gets_no_red_candidate_merged": 1,
    "e2e/test_provider_faults.py::test_a_provider_that_never_recovers_ends_the_run_as_the_docs_say": 2,
    "e2e/test_provider_faults.py::test_every_row_of_the_docs_is_tested_and_the_other_way_round": 1,
    # Deaths around an effect, and what is whole after them.
    "engine/test_crash_points_outside.py::test_a_notification_that_was_sent_is_not_sent_again": 1,
    "engine/test_repaired_runs.py::test_a_run_goes_on_after_its_journal_was_repaired": 1,
    # Hosts as processes.
    "conformance/test_lost_hosts.py::test_a_loss_ends_every_kind_of_call_under_way_at_once": 1,
    # Real projects, drawn runs, gates of every kind.
    "engine/test_deps.py::test_wheels_are_installed_once_and_lent_to_workspaces_without_network": 1,
    "engine/test_gates_in_the_wild.py::test_a_wrong_change_is_red_by_its_test_and_a_right_one_lands": 1,
    "engine/test_honest_changes.py::test_there_are_forty_of_them_and_no_two_change_the_same_file": 1,
    "engine/test_memory.py::test_a_second_run_is_told_what_the_first_learnt_until_one_contradicts_it": 1,
    "engine/test_random_runs.py::test_whatever_a_model_does_only_green_lands_and_nothing_is_lost": 1,
    "engine/test_replay.py::test_a_changed_prompt_shows_where_it_diverges_without_asking_anybody": 1,
    # Attacks that change what a test says.
    "security/test_behaviour.py::test_code_that_does_otherwise_untested_or_equals_too_much_is_red": 1,
    "security/test_attack_corpus.py::test_an_attack_does_not_land": 2,
    "security/test_guarded_runs.py::test_a_process_that_leaves_from_a_test_is_red_and_the_last_test_is_named": 1,
    "security/test_guarded_runs.py::test_honest_tests_end_as_without_a_guard": 1,
    "security/test_canaries.py::test_a_forgery_that_everything_else_lets_pass_is_red": 1,
    "security/test_gate_files.py::test_a_file_of_the_gate_s_own_stays_as_it_is_and_the_reason_names_it": 3,
    "security/test_gate_files.py::test_control_the_gate_itself_says_nothing_against_it": 1,
    "security/test_gate_files.py::test_nothing_of_that_has_landed": 1,
    "security/test_mutations.py::test_the_self_test_refuses_a_sandbox_without_this_wall_and_names_it": 1,
    "security/test_mutations.py::test_without_this_wall_an_attack_succeeds_and_its_test_is_red": 1,
    "security/test_support.py::test_what_the_gate_reads_beside_product_and_tests_stays_as_it_is": 3,
    "security/test_support.py::test_what_a_runner_finds_by_itself_and_no_code_names_is_red": 1,
    "security/test_verdict_attacks.py::test_an_honest_change_lands": 1,
    "security/test_verdict_attacks.py::test_control_what_a_plain_exit_code_says_of_the_same_change": 1,
    "security/test_verdict_attacks.py::test_nothing_of_all_that_has_landed": 1,
    "security/test_verdict_attacks.py::test_what_fools_an_exit_code_is_red_and_the_reason_names_it": 4,
    # Quick matrices that take the same way with each of their parameters.
    "unit/judge/test_runner_options.py::test_a_report_is_there_whoever_else_asked_pytest_for_one": 3,
    "unit/llm/test_credentials.py::test_a_provider_of_the_table_needs_what_litellm_says_it_needs": 5,
    "unit/app/test_starting.py::test_every_bundled_recipe_becomes_one_that_can_be_read": 4,
    "security/test_shared_secrets.py::test_a_recipe_of_the_repositorys_own_shares_dependencies_alone": 1,
    "security/test_snapshot_gate.py::test_a_pipe_that_git_would_read_settings_from_hangs_nothing": 1,
    "security/test_limits.py::test_many_short_programs_below_the_limit_of_cpu_time_run_to_their_end": 1,
    "security/test_registry_proxy.py::test_the_way_out_changes_no_exit_code": 2,
    "engine/test_steps.py::test_a_step_runs_on_its_own_result_until_it_changes_nothing": 1,
    "engine/test_steps.py::test_a_step_that_never_settles_is_named_with_its_passes_and_what_still_differs": 1,
    "test_architecture.py::test_a_planted_violation_breaks_the_contract": 5,
    "e2e/test_mistakes.py::test_what_is_said_is_what_the_page_says_and_nothing_is_lost": 8,
    "e2e/test_bad_input.py::test_models_and_settings_that_are_wrong": 4,
    "e2e/test_closed_streams.py::test_what_has_nothing_to_write_to_ends_as_it_does_elsewhere": 2,
    "e2e/test_ci_verb.py::test_a_mistake_is_told_with_what_to_do": 2,
    "e2e/test_engine_process.py::test_a_terminal_that_goes_away_ends_nothing": 1,
    "e2e/test_hostile_machine.py::test_a_clock_that_is_set_costs_no_time_and_ends_nothing": 1,
    "e2e/test_odd_repositories.py::test_a_file_that_a_step_replaces_by_something_else_is_the_only_one_left_out": 1,
    "e2e/test_odd_repositories.py::test_a_migration_lands_in_a_repository_of_any_shape": 1,
    "e2e/test_stopping.py::test_ctrl_c_twice_or_sigterm_stop_at_once_and_keep_everything": 1,
    "engine/test_beginnings.py::test_a_gate_that_cannot_judge_stops_the_run_before_any_model_is_asked": 2,
    "engine/test_ci_publish.py::test_no_journal_that_was_forged_moves_or_removes_a_branch_of_somebody_else": 1,
    "engine/test_ci_publish.py::test_nothing_is_pushed_that_the_run_has_not_landed_on_its_own_branch": 1,
    "engine/test_gc.py::test_a_gc_that_is_killed_has_lost_nothing_it_should_keep_and_the_next_one_ends_it": 1,
    "engine/test_steps.py::test_a_step_that_reaches_further_than_its_file_has_a_sandbox_for_each": 1,
    "security/test_limits.py::test_a_flood_of_output_is_cut_and_shown_as_its_ends": 1,
    "security/test_limits.py::test_a_workspace_cannot_fill_the_disk": 1,
    "security/test_limits.py::test_common_tools_do_not_notice_the_filter": 1,
    "security/test_limits.py::test_cpu_time_of_children_that_nobody_waits_for_counts": 1,
    "security/test_limits.py::test_files_without_a_name_fill_no_disk_however_they_are_held": 1,
    "security/test_limits.py::test_memory_that_belongs_to_no_process_counts_as_well": 1,
    "security/test_provider_attacks.py::test_a_reply_without_bounds_ends_with_a_name_and_stops_nobody": 2,
    "security/test_provider_attacks.py::test_a_stream_without_bounds_ends_with_a_name_and_stops_nobody": 1,
    "security/test_provider_attacks.py::test_every_family_of_providers_is_bounded": 2,
    "security/test_push_attacks.py::test_control_plain_git_runs_it": 1,
    "security/test_repository_settings.py::test_control_the_same_lines_count_in_the_users_own_file": 1,
    "security/test_reviewer_attacks.py::"
    "test_control_the_same_text_outside_a_fence_or_behind_a_guessable_one_is_obeyed": 1,
    "engine/test_targeted_landings.py::test_what_belongs_together_lands_or_is_ejected_together": 1,
    "engine/test_steps.py::test_a_step_that_changes_its_own_result_once_more_has_failed": 1,
    "engine/test_settings_of_imports.py::test_hooks_that_came_with_a_run_act_only_if_its_settings_are_trusted": 1,
    "engine/test_odd_resumes.py::test_a_gate_that_was_changed_between_two_engines_has_a_baseline_of_its_own": 1,
    "engine/test_notifications.py::test_a_web_hook_that_refuses_is_recorded_and_not_followed": 1,
    "engine/test_migrations_at_odd_moments.py::test_what_is_left_out_or_held_as_it_lands_is_told_as_what_it_is": 1,
    "engine/test_migrations_at_odd_moments.py::test_a_shard_that_was_held_to_the_end_lands_when_it_is_released": 1,
    "engine/test_migrations_at_odd_moments.py::"
    "test_a_file_that_is_tried_again_as_it_is_judged_is_tried_in_the_next_wave": 1,
    "engine/test_left_locks.py::test_refs_of_the_run_that_lost_their_content_are_put_back": 1,
    "engine/test_landing.py::test_a_red_commit_of_a_person_on_the_pr_branch_stops_the_run_and_is_no_tasks_fault": 1,
    "engine/test_goals_at_odd_moments.py::test_an_answer_about_the_contract_holds_for_what_was_asked_alone": 1,
    "engine/test_forge_checks.py::test_a_no_leaves_what_landed_as_it_is_and_ends_the_run": 1,
    "engine/test_ci_publish.py::test_a_branch_that_was_removed_after_it_was_merged_does_not_come_back": 1,
    "engine/test_budget_over_http.py::test_a_budget_is_kept_by_parallel_workers_and_what_is_finished_lands": 1,
    "engine/test_people.py::test_what_makes_no_sense_is_refused_and_recorded": 1,
    "engine/test_github_pull_requests.py::test_what_is_missing_is_told_before_any_work": 1,
    "e2e/test_bad_input.py::test_a_goal_that_is_piped_in_another_encoding_is_no_crash": 1,
    "e2e/test_first_goal.py::test_every_command_of_the_first_goal_works_in_its_order": 1,
    "security/test_shared_secrets.py::test_what_an_imported_run_shares_counts_only_if_its_settings_are_trusted": 1,
    "security/test_shared_secrets.py::test_a_run_whose_recipe_opens_places_of_this_machine_is_not_imported": 1,
    "security/test_reviewer_attacks.py::test_text_for_the_reviewer_changes_no_verdict_is_fenced_and_is_flagged": 3,
    "security/test_reviewer_attacks.py::test_the_verdict_is_the_one_that_the_same_change_has_without_the_text": 1,
    "engine/test_commits.py::test_a_migrations_pull_requests_are_squashed_to_one_commit_each": 1,
    "engine/test_migration_gate.py::"
    "test_a_change_that_replaces_a_function_of_python_while_tests_run_is_red_although_they_pass": 1,
    "engine/test_steps.py::test_a_dry_run_makes_of_each_file_what_the_run_does": 1,
    "security/test_limits.py::test_cpu_time_is_limited_for_a_command_with_all_its_processes": 1,
    # Screens in every size, colour and view.
    "tui/test_panels.py::test_every_tab_can_be_drawn_in_a_tiny_window": 2,
    "tui/test_panels.py::test_an_empty_screen_says_what_will_appear": 1,
    "tui/test_worker_view.py::test_each_pane_fits_the_screen": 1,
    "tui/test_acts.py::test_keys_act_on_what_is_chosen_with_a_note_where_one_belongs": 1,
    "tui/test_fleet_view.py::test_header_keys_and_the_chosen_row_are_in_sight": 1,
    "tui/test_frame.py::test_every_tab_comes_to_the_front_by_key_and_by_click": 1,
    "tui/test_frame.py::test_everything_can_be_drawn_with_ascii_alone": 1,
    "tui/test_hostile.py::test_nothing_of_a_hostile_run_reaches_the_terminal_from_any_view": 1,
    "tui/test_acts.py::test_a_dashboard_that_may_only_look_sends_nothing_and_says_so": 1,
    "tui/test_cursor.py::test_the_cursor_stands_out_and_what_is_on_it_can_be_read": 1,
    "tui/test_frame.py::test_help_has_every_key_that_holds_where_one_is": 1,
    "tui/test_frame.py::test_run_tabs_and_keys_are_in_sight_at_every_size": 1,
    "tui/test_goal_views.py::test_what_matters_is_seen_at_every_size_and_after_another": 1,
    "tui/test_migration_views.py::test_what_matters_is_seen_at_every_size": 1,
    "tui/test_screens.py::test_a_screen_of_a_goal_looks_as_it_does_in_the_guide": 1,
    "tui/test_screens.py::test_a_screen_of_a_migration_looks_as_it_does_in_the_guide": 1,
}
"""Test → so many of its parameters, the first ones. Of slow tests all others run in `make cases` alone; of the quick
tests named here, only the parameters beyond that."""


def mark_representatives(items: Iterable[pytest.Item]) -> None:
    """Mark the slow tests that `make test` runs too as representative, and the quick ones beyond theirs as extended."""
    counted: Counter[tuple[str, bool]] = Counter()
    for item in items:
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        if name not in REPRESENTATIVES or item.get_closest_marker("extended"):
            continue
        is_slow = item.get_closest_marker("slow") is not None
        counted[name, is_slow] += 1
        is_within = counted[name, is_slow] <= REPRESENTATIVES[name]
        if is_slow and is_within:
            item.add_marker("representative")
        if not is_slow and not is_within:
            item.add_marker("extended")


def chosen_parameters(request: pytest.FixtureRequest, test: str, name: str) -> list[Any]:
    """Return the values of a parameter for which a test was selected, for a fixture that makes them all together."""
    return [
        item.callspec.params[name]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname == test
    ]
