;;; sould-review.el --- Keep and reject what agents changed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The commands of the review: from hunk to hunk, keep, reject, take back, comment.  A decision names the hunk that its user sees;
;; when that is another by now, nothing is done.  Saving a file is never a decision, and deciding moves no point.

;;; Code:

(require 'sould-decide)

(defcustom sould-confirm-bulk-reject t
  "Whether rejecting all of a file or project asks first."
  :type 'boolean
  :group 'sould)

(defvar-local sould-review-hunks-function #'sould-review--in-file
  "What gives the hunks that a command is about, in the current buffer.")

;;;; Which hunks

(defun sould-review--project ()
  "The project of the current buffer; signals `user-error' when it has none."
  (or (sould-project-current)
      (user-error "Nothing is known of a review here; `sould-mode' connects a file's buffer")))

(defun sould-review--in-file ()
  "The hunks at point, or of the region's lines."
  (mapcar (lambda (overlay) (overlay-get overlay 'sould-hunk))
          (if (use-region-p)
              (sould-hunks-between (region-beginning) (max (region-beginning) (1- (region-end))))
            (sould-hunks-between (point) (point)))))

(defun sould-review--chosen ()
  "The hunks that a command is about; signals `user-error' when there are none."
  (or (funcall sould-review-hunks-function)
      (user-error "No hunk here")))

(defun sould-review--lines (hunks)
  "The lines that the region chooses of HUNKS: (FROM TO), or nil for all."
  (when (and (use-region-p) (= 1 (length hunks)) (derived-mode-p 'text-mode 'prog-mode 'fundamental-mode))
    (let* ((start (plist-get (car hunks) :start))
           (count (length (plist-get (car hunks) :lines)))
           (from (max 0 (- (1- (line-number-at-pos (region-beginning) t)) start)))
           (to (min count (- (line-number-at-pos (max (region-beginning) (1- (region-end))) t) start))))
      (unless (or (>= from to) (and (= from 0) (= to count)))
        (list from to)))))

;;;; Deciding

;;;###autoload
(defun sould-keep ()
  "Keep the hunk at point, or those in the region, or the region's lines of one."
  (interactive)
  (sould-review--decide-chosen "keep" nil))

;;;###autoload
(defun sould-reject (&optional reason)
  "Reject the hunk at point, or those in the region, or the region's lines of one.
What you typed stays.  With a prefix argument, ask for the REASON that
the agent is told."
  (interactive (list (when current-prefix-arg (read-string "Tell the agent why: "))))
  (sould-review--decide-chosen "reject" reason))

(defun sould-review--decide-chosen (verdict reason)
  "Decide VERDICT, for REASON, about the hunks at point."
  (let* ((project (sould-review--project))
         (hunks (progn (sould-sync-flush-all project) (sould-review--chosen)))
         (lines (sould-review--lines hunks)))
    (deactivate-mark)
    (sould-decide project verdict (list :hunks (sould-decide-named hunks)) reason lines)))

;;;; Files and all

(defun sould-review--bulk (verdict what words)
  "Ask whether to do VERDICT about WHAT, which WORDS describe; do it."
  (let* ((project (sould-review--project))
         (hunks (if (plist-get what :all)
                    (sould-project-hunks project)
                  (plist-get (sould-project-file project (aref (plist-get what :paths) 0)) :hunks))))
    (unless hunks
      (user-error "Nothing to review in %s" words))
    (sould-sync-flush-all project)
    (when (or (equal verdict "keep")
              (not sould-confirm-bulk-reject)
              (y-or-n-p (format "Reject %d hunk%s in %s? " (length hunks) (if (cdr hunks) "s" "") words)))
      (sould-decide project verdict what))))

(defun sould-review--path ()
  "The file that a command is about."
  (or (when sould-sync--project sould-sync--path)
      (plist-get (car (funcall sould-review-hunks-function)) :path)
      (user-error "No file here")))

;;;###autoload
(defun sould-keep-file ()
  "Keep all that is pending in this file."
  (interactive)
  (let ((path (sould-review--path)))
    (sould-review--bulk "keep" (list :paths (vector path)) (file-name-nondirectory path))))

;;;###autoload
(defun sould-reject-file ()
  "Reject all that is pending in this file; what you typed stays."
  (interactive)
  (let ((path (sould-review--path)))
    (sould-review--bulk "reject" (list :paths (vector path)) (file-name-nondirectory path))))

;;;###autoload
(defun sould-keep-all ()
  "Keep all that is pending in this project."
  (interactive)
  (sould-review--bulk "keep" '(:all t) "this project"))

;;;###autoload
(defun sould-reject-all ()
  "Reject all that is pending in this project; what you typed stays."
  (interactive)
  (sould-review--bulk "reject" '(:all t) "this project"))

;;;###autoload
(defun sould-undo (&optional older)
  "Take back the last decision that was made here.
What is refused stays the last one, to be tried again; with OLDER, a
prefix argument, the decision before it is taken back."
  (interactive "P")
  (let ((project (sould-review--project)))
    (sould-sync-flush-all project)
    (sould-decide-undo project (if older 1 0))))

;;;; Going there

;;;###autoload
(defun sould-next-hunk (&optional count)
  "Go to the next hunk, or the COUNTth.
Behind the last one, go to that of the next file."
  (interactive "p")
  (sould-review--go (or count 1)))

;;;###autoload
(defun sould-previous-hunk (&optional count)
  "Go to the previous hunk, or the COUNTth.
Before the first one, go to that of the file before."
  (interactive "p")
  (sould-review--go (- (or count 1))))

(defun sould-review--go (count)
  "Go COUNT hunks on, or back."
  (let* ((places (delete-dups (mapcar #'overlay-start (sould-hunks-drawn))))
         (here (line-beginning-position))
         (ahead (if (> count 0)
                    (seq-filter (lambda (place) (> place here)) places)
                  (nreverse (seq-filter (lambda (place) (< place here)) places))))
         (place (nth (1- (abs count)) ahead)))
    (if place
        (progn (push-mark nil t)
               (goto-char place)
               (sould-review--where))
      (sould-review--go-file (> count 0)))))

(defun sould-review--where ()
  "Say which hunk point is at."
  (when-let ((hunk (car (sould-review--in-file))))
    (let* ((all (mapcar (lambda (overlay) (plist-get (overlay-get overlay 'sould-hunk) :id)) (sould-hunks-drawn)))
           (place (seq-position all (plist-get hunk :id))))
      (message "Hunk %d of %d in this file%s" (1+ (or place 0)) (length all) (sould-hunks-by hunk)))))

(defun sould-review--go-file (onward)
  "Go to the first hunk of the next file, if ONWARD, else to the last before."
  (let* ((project (sould-review--project))
         (paths (seq-filter (lambda (path) (plist-get (sould-project-file project path) :exists))
                            (sould-project-paths project)))
         (here (or sould-sync--path ""))
         (next (or (if onward
                       (seq-find (lambda (path) (string< here path)) paths)
                     (seq-find (lambda (path) (string< path here)) (reverse paths)))
                   (car (if onward paths (last paths))))))
    (cond ((null next) (user-error "Nothing to review in this project"))
          ((and (equal next here) (sould-hunks-drawn))
           (push-mark nil t)
           (goto-char (overlay-start (car (if onward (sould-hunks-drawn) (last (sould-hunks-drawn))))))
           (message "From the %s again" (if onward "top" "end")))
          (t (sould-review-visit (let ((hunks (plist-get (sould-project-file project next) :hunks)))
                                   (if onward (car hunks) (car (last hunks)))))))))

(defun sould-review-visit (hunk)
  "Go to HUNK in its file, in the selected window."
  (find-file (plist-get hunk :path))
  (push-mark nil t)
  (goto-char (sould-hunks--line (plist-get hunk :start)))
  (message "%s" (file-name-nondirectory (plist-get hunk :path))))

;;;; Comments

;;;###autoload
(defun sould-comment (text)
  "Keep TEXT as a comment for the agent about the hunk or the lines at point."
  (interactive (list (read-string "Comment for the agent: ")))
  (let* ((project (sould-review--project)) (hunk (car (funcall sould-review-hunks-function))))
    (sould-sync-flush-all project)
    (sould-project-request project "comment"
                           (append (list :text text)
                                   (if hunk
                                       (list :hunk (plist-get hunk :id))
                                     (list :path (sould-review--path) :lines (sould-review--line-range))))
                           (lambda (_answer)
                             (message "%s" (substitute-command-keys
                                            "Noted.  \\[sould-send-comments] sends all comments to the agent"))))))

(defun sould-review--line-range ()
  "The lines of the region, or of point: [FROM TO]."
  (if (use-region-p)
      (vector (1- (line-number-at-pos (region-beginning) t)) (line-number-at-pos (max (region-beginning) (1- (region-end))) t))
    (vector (1- (line-number-at-pos nil t)) (line-number-at-pos nil t))))

;;;###autoload
(defun sould-send-comments ()
  "Send the comments of this project to the session that wrote what they are about."
  (interactive)
  (sould-project-request (sould-review--project) "comments/send" nil
                         (lambda (answer)
                           (message "%s" (pcase (plist-get answer :outcome)
                                           ("sent" "The comments are sent")
                                           ("closed" "The session they belong to is not open; `sould-chat' opens one")
                                           (other (format "The comments are not sent: %s" other)))))))

(provide 'sould-review)
;;; sould-review.el ends here
